package quota

import (
	"sync"
	"time"
)

// failuresMost is how many failures in a row open a circuit.
const failuresMost = 3

// circuit keeps questions from a service that does not answer, so that its absence
// costs nothing. After failures in a row it is open: nothing passes for a while, and
// then one question at a time, until one is answered. The while doubles with each
// that is not.
type circuit struct {
	first, most time.Duration // shortest and longest while

	mu       sync.Mutex
	failures int
	rest     time.Duration
	until    time.Time
	probing  bool
}

// allow says whether a question may be asked now. What came of it has to be reported
// by succeeded, failed or abandoned.
func (c *circuit) allow(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failures < failuresMost {
		return true
	}
	if c.probing || now.Before(c.until) {
		return false
	}
	c.probing = true
	return true
}

// isOpen says whether the service is being left alone.
func (c *circuit) isOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failures >= failuresMost
}

// succeeded notes an answer, and says whether it closed the circuit.
func (c *circuit) succeeded() (closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	closed = c.failures >= failuresMost
	c.failures, c.rest, c.probing = 0, 0, false
	return closed
}

// failed notes a failure, and says whether it opened the circuit. Failures of
// questions that were asked before it opened tell nothing new.
func (c *circuit) failed(now time.Time) (opened bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wasOpen := c.failures >= failuresMost
	if wasOpen && !c.probing {
		return false
	}
	c.failures++
	c.probing = false
	if c.failures < failuresMost {
		return false
	}
	c.rest = min(max(2*c.rest, c.first), c.most)
	c.until = now.Add(c.rest)
	return !wasOpen
}

// abandoned notes that the asker did not wait for the answer.
func (c *circuit) abandoned() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probing = false
}

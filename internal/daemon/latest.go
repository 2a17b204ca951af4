package daemon

import (
	"sync/atomic"
	"time"
)

// latest keeps what was read last, for as long as it counts: a figure that cannot be read
// any more is none, and an alert about its absence has to see that.
type latest[T any] struct {
	reading atomic.Pointer[reading[T]]
	// lasts is how long a reading counts.
	lasts time.Duration
}

type reading[T any] struct {
	value T
	at    time.Time
}

// missedReadings is how many readings in a row may fail before the last one counts no more.
const missedReadings = 5

// newLatest is for what is read once in an interval.
func newLatest[T any](interval time.Duration) *latest[T] {
	return &latest[T]{lasts: missedReadings * interval}
}

func (l *latest[T]) store(value T) { l.reading.Store(&reading[T]{value: value, at: time.Now()}) }

// load gives the last reading and its age; nil when there is none, or none that counts.
func (l *latest[T]) load() (value *T, age time.Duration) {
	r := l.reading.Load()
	if r == nil {
		return nil, 0
	}
	if age = time.Since(r.at); age > l.lasts {
		return nil, age
	}
	return &r.value, age
}

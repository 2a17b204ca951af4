package batcher

import (
	"math/rand/v2"
	"time"
)

// Class says what an error of a run means for its batch. The package comment
// has the table.
type Class int

// The classes of errors.
const (
	Poison Class = iota
	Transient
	Ambiguous
	Fatal
)

func (c Class) String() string {
	switch c {
	case Poison:
		return "poison"
	case Transient:
		return "transient"
	case Ambiguous:
		return "ambiguous"
	case Fatal:
		return "fatal"
	}
	return "unknown class"
}

// Limits bounds everything a batcher does. A zero field takes its default;
// a value outside its range is moved to the nearest end.
type Limits struct {
	// Batch is the most items one run gets: 1 to 65536, default 256.
	Batch int
	// Workers is the number of runs at the same time: 1 to 64, default 2.
	Workers int
	// Queue is the number of items that may wait; beyond it Submit waits. With a
	// key function it is divided among the workers. 1 to 1048576, default 1024.
	Queue int
	// Linger is how long a worker waits for a batch to fill once it has a first
	// item: 0 to 10 ms, default 0.
	Linger time.Duration
	// Attempt is how long one run may take before its context ends; the outcome is
	// then ambiguous. 1 ms to 1 h, default 30 s.
	Attempt time.Duration
	// BackoffFirst and BackoffMost are the shortest and the longest wait before a
	// batch is run again; in between it doubles. Each wait is shortened by up to a
	// half at random. 1 ms to 1 h, defaults 20 ms and 2 s.
	BackoffFirst, BackoffMost time.Duration
	// PauseAfter is how many times in a row a batch has to fail as Transient or
	// Ambiguous before the batcher calls itself paused; a lone deadlock should not
	// stop consumption. 1 to 1000, default 2.
	PauseAfter int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Batch:        within(l.Batch, 256, 1, 1<<16),
		Workers:      within(l.Workers, 2, 1, 64),
		Queue:        within(l.Queue, 1024, 1, 1<<20),
		Linger:       within(l.Linger, 0, 0, 10*time.Millisecond),
		Attempt:      within(l.Attempt, 30*time.Second, time.Millisecond, time.Hour),
		BackoffFirst: within(l.BackoffFirst, 20*time.Millisecond, time.Millisecond, time.Hour),
		BackoffMost:  within(l.BackoffMost, 2*time.Second, time.Millisecond, time.Hour),
		PauseAfter:   within(l.PauseAfter, 2, 1, 1000),
	}
}

func within[T int | time.Duration](value, standard, least, most T) T {
	if value == 0 {
		value = standard
	}
	return min(max(value, least), most)
}

// Options is how a batcher behaves. The zero value is usable.
type Options[In any] struct {
	Limits Limits
	// Classify judges an error of run. Nil means that every error is Poison.
	// A panic is always Poison and an attempt out of time always Ambiguous,
	// without asking.
	Classify func(error) Class
	// Key, when set, ties items of one key to one worker: they are run in the
	// order they were submitted, and two workers never fight for one row. One hot
	// key then uses one worker.
	Key func(In) string
	// OnPause is told when the batcher starts to wait for something that is away,
	// and when it goes on; true and false strictly alternate. It must return
	// quickly and must not call the batcher.
	OnPause func(paused bool)
	// Jitter returns numbers in [0, 1) that spread the waits. Nil means random.
	Jitter func() float64
}

func (o Options[In]) withDefaults() Options[In] {
	o.Limits = o.Limits.withDefaults()
	if o.Classify == nil {
		o.Classify = func(error) Class { return Poison }
	}
	if o.OnPause == nil {
		o.OnPause = func(bool) {}
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	return o
}

// backoff is the wait after the given number of failures in a row.
func (o Options[In]) backoff(failures int) time.Duration {
	wait := o.Limits.BackoffMost
	if doublings := failures - 1; doublings < 20 {
		wait = min(wait, o.Limits.BackoffFirst<<doublings)
	}
	return wait - time.Duration(o.Jitter()*float64(wait)/2)
}

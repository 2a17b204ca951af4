package outbox

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// MaxShards is the most shards a relay serves.
const MaxShards = 1024

// Options is how a relay behaves. Owner and Shards are required; another zero
// field takes its default, and a value outside its range is moved to the nearest
// end.
type Options struct {
	// Owner names this relay in leases. It must be different for every start of
	// every replica.
	Owner string
	// Shards is the number of shards; they are numbered from 0. 1 to 1024.
	Shards int
	// Lease is the time to live of a lease, 100 ms to 1 h, default 10 s. It is
	// renewed at a third of it and not used in its last LeaseMargin, which is at
	// most half of it, default a sixth.
	Lease, LeaseMargin time.Duration
	// Rows and Bytes bound one fetch: 1 to 10000, default 64, and 1 to 256 MiB,
	// default 1 MiB, of payload. At most two fetches are in memory for each shard,
	// and read they take several times as much.
	Rows, Bytes int
	// Messages is the most messages one call of the publisher gets: 1 to 65536,
	// default 2048. The publisher runs dry at the end of each.
	Messages int
	// PollBusy and PollIdle are the shortest and the longest wait before an empty
	// shard is looked at again; in between it doubles. 1 ms to 1 min, defaults 20
	// ms and 500 ms. A kick cuts it short.
	PollBusy, PollIdle time.Duration
	// PublishTimeout is how long one call of the publisher may take: 10 ms to 1 h,
	// default 30 s.
	PublishTimeout time.Duration
	// BackoffFirst and BackoffMost are the shortest and the longest wait after a
	// failure; in between it doubles, and each is shortened by up to a half at
	// random. 1 ms to 10 min, defaults 50 ms and 2 s.
	BackoffFirst, BackoffMost time.Duration
	// ReturnAttempts is how often a row is published of which only returned
	// messages are left, before it is parked: 1 to 1000, default 3.
	ReturnAttempts int
	// ParkRest is how long a parked row rests before it is tried again: 10 ms to 24
	// h, default 1 min.
	ParkRest time.Duration
	// Drain is how long a relay that was told to stop may take to have what it is
	// publishing confirmed and removed: 1 ms to 1 h, default 5 s.
	Drain time.Duration

	// Logger is where the relay reports. Nil discards.
	Logger *slog.Logger
	// Now is the wall clock for delays and lag. Nil is time.Now. Leases are kept
	// on the monotonic clock, whatever this says.
	Now func() time.Time
	// Jitter returns numbers in [0, 1) that spread the waits. Nil means random.
	Jitter func() float64
}

func (o Options) withDefaults() (Options, error) {
	if o.Owner == "" {
		return o, errors.New("outbox relay: no owner")
	}
	if o.Shards < 1 || o.Shards > MaxShards {
		return o, fmt.Errorf("outbox relay: %d shards, want 1 to %d", o.Shards, MaxShards)
	}
	const ms = time.Millisecond
	o.Lease = within(o.Lease, 10*time.Second, 100*ms, time.Hour)
	o.LeaseMargin = within(o.LeaseMargin, o.Lease/6, ms, o.Lease/2)
	o.Rows = within(o.Rows, 64, 1, 10_000)
	o.Bytes = within(o.Bytes, 1<<20, 1, 256<<20)
	o.Messages = within(o.Messages, 2048, 1, 1<<16)
	o.PollBusy = within(o.PollBusy, 20*ms, ms, time.Minute)
	o.PollIdle = within(o.PollIdle, 500*ms, o.PollBusy, time.Minute)
	o.PublishTimeout = within(o.PublishTimeout, 30*time.Second, 10*ms, time.Hour)
	o.BackoffFirst = within(o.BackoffFirst, 50*ms, ms, 10*time.Minute)
	o.BackoffMost = within(o.BackoffMost, 2*time.Second, ms, 10*time.Minute)
	o.ReturnAttempts = within(o.ReturnAttempts, 3, 1, 1000)
	o.ParkRest = within(o.ParkRest, time.Minute, 10*ms, 24*time.Hour)
	o.Drain = within(o.Drain, 5*time.Second, ms, time.Hour)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	return o, nil
}

func within[T int | time.Duration](value, standard, least, most T) T {
	if value == 0 {
		value = standard
	}
	return min(max(value, least), most)
}

// backoff is the wait after the given number of failures in a row.
func (o Options) backoff(failures int) time.Duration {
	wait := o.BackoffMost
	if doublings := failures - 1; doublings < 20 {
		wait = min(wait, o.BackoffFirst<<doublings)
	}
	return o.spread(wait)
}

func (o Options) spread(d time.Duration) time.Duration {
	return d - time.Duration(o.Jitter()*float64(d)/2)
}

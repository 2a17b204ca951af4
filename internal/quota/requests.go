package quota

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// RequestsOptions shape the memory of requests. A zero field takes its default.
type RequestsOptions struct {
	// Prefix begins all keys, default "couponlease:request:".
	Prefix string
	// TTL is how long a request is remembered, default 5 min.
	TTL time.Duration
	// Timeout is how long one question may take, default 50 ms.
	Timeout time.Duration
	// RestFirst and RestMost are the shortest and the longest while for which a Redis
	// that does not answer is left alone, defaults 1 s and 30 s.
	RestFirst, RestMost time.Duration
	// Logger is told when Redis goes and when it is back. Nil discards.
	Logger *slog.Logger
}

// Requests remembers which requests have come in, for a while and as well as Redis
// can: it forgets, and may take a new request for one that it knows. Its methods may
// be called from any goroutine.
type Requests struct {
	client  *Client
	options RequestsOptions
	circuit circuit

	first, seen, failed, skipped atomic.Int64
}

// RequestsStats are the figures of a memory of requests since it was made.
type RequestsStats struct {
	// First were new to Redis, Seen were not, Failed got no answer in time, and
	// Skipped were not asked about because Redis was away.
	First, Seen, Failed, Skipped int64
	// Away says that Redis is being left alone now.
	Away bool
}

// NewRequests makes a memory of requests on a client, which stays the caller's.
func NewRequests(client *Client, o RequestsOptions) *Requests {
	o.Prefix = cmp.Or(o.Prefix, "couponlease:request:")
	o.TTL = cmp.Or(o.TTL, 5*time.Minute)
	o.Timeout = cmp.Or(o.Timeout, 50*time.Millisecond)
	o.RestFirst = cmp.Or(o.RestFirst, time.Second)
	o.RestMost = max(o.RestFirst, cmp.Or(o.RestMost, 30*time.Second))
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Requests{client: client, options: o, circuit: circuit{first: o.RestFirst, most: o.RestMost}}
}

// Seen says whether a request with the key came in before, and remembers it. When
// Redis does not answer, or did not answer lately, it is false, like for a new
// request: there is no error to handle.
func (r *Requests) Seen(ctx context.Context, key string) bool {
	if !r.circuit.allow(time.Now()) {
		r.skipped.Add(1)
		return false
	}
	question, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	isFirst, err := r.client.redis.SetNX(question, r.options.Prefix+key, 1, r.options.TTL).Result()
	switch {
	case err == nil:
		if r.circuit.succeeded() {
			r.options.Logger.Info("Redis is back")
		}
	case ctx.Err() != nil:
		r.circuit.abandoned()
		return false
	default:
		r.failed.Add(1)
		if r.circuit.failed(time.Now()) {
			r.options.Logger.Warn("Redis does not answer; until it does, the database answers repeated requests", "error", err)
		}
		return false
	}
	if isFirst {
		r.first.Add(1)
	} else {
		r.seen.Add(1)
	}
	return !isFirst
}

// Stats gives the figures.
func (r *Requests) Stats() RequestsStats {
	return RequestsStats{
		First: r.first.Load(), Seen: r.seen.Load(), Failed: r.failed.Load(), Skipped: r.skipped.Load(),
		Away: r.circuit.isOpen(),
	}
}

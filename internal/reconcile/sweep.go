package reconcile

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
)

// Engine answers requests, one answer or error each.
type Engine interface {
	SubmitAll(ctx context.Context, requests []coupon.Request) ([]coupon.Outcome, []error)
}

// Source tells a sweeper what is due: items of type T, at places of type C.
type Source[T, C any] struct {
	// Name is for logs and metrics.
	Name string
	// Page looks, in a stable order, at no more than limit things behind a place,
	// of which the zero value is before all, and gives those that are due.
	Page func(ctx context.Context, after C, limit int) (Page[T, C], error)
	// Coupon is the coupon an item is about; it decides about the item's shard.
	Coupon func(T) string
	// Request is what the engine is asked about an item. Asking twice must change
	// nothing.
	Request func(T) coupon.Request
}

// Page is what one look found.
type Page[T, C any] struct {
	Items []T
	// Next is the place behind the last thing looked at.
	Next C
	// Last says that there is nothing behind it now.
	Last bool
}

// Options is how a sweeper behaves. Interval and Rate are required.
type Options struct {
	// Interval is the wait between two walks.
	Interval time.Duration
	// Rate is the most requests submitted in a second.
	Rate int
	// Look is the most things one page looks at, default 1000, and Chunk the most
	// requests submitted together, default 256 and never more than Rate.
	Look, Chunk int
	// StartOver is for how long walks go on from where the last one ended, as is
	// right for an order in which what becomes due is behind what was; zero makes
	// each walk start over.
	StartOver time.Duration
	Logger    *slog.Logger
}

// Sweeper walks a source and submits what it finds in the shards it holds.
// Several may run on the same source, in one process or many: two that hold the
// same shard do work twice and no harm.
type Sweeper[T, C any] struct {
	source  Source[T, C]
	engine  Engine
	shards  *Shards
	options Options

	after   C // where the walk goes on
	started time.Time
	ailing  bool // the last walk could not be finished

	due, submitted, failed atomic.Uint64
}

// NewSweeper makes a sweeper; Run starts it.
func NewSweeper[T, C any](source Source[T, C], engine Engine, shards *Shards, options Options) *Sweeper[T, C] {
	if options.Look <= 0 {
		options.Look = 1000
	}
	if options.Chunk <= 0 {
		options.Chunk = 256
	}
	options.Chunk = max(1, min(options.Chunk, options.Rate))
	return &Sweeper[T, C]{source: source, engine: engine, shards: shards, options: options}
}

// Stats is what a sweeper has done so far.
type Stats struct {
	Sweep string
	// Due counts items found in shards held, Submitted those answered, Failed
	// those that were not. Failed items are found again by a later walk.
	Due, Submitted, Failed uint64
}

// Stats returns the present figures.
func (s *Sweeper[T, C]) Stats() Stats {
	return Stats{
		Sweep: s.source.Name, Due: s.due.Load(), Submitted: s.submitted.Load(), Failed: s.failed.Load(),
	}
}

// Run walks until ctx ends. It has given up its shards when it returns.
func (s *Sweeper[T, C]) Run(ctx context.Context) {
	defer s.shards.release(context.WithoutCancel(ctx))
	for ctx.Err() == nil {
		err := s.walk(ctx)
		switch {
		case err == nil && s.ailing:
			s.options.Logger.Info("sweep goes on", "sweep", s.source.Name)
		case err != nil && ctx.Err() == nil && !s.ailing:
			s.options.Logger.Warn("sweep was broken off", "sweep", s.source.Name, "error", err)
		}
		s.ailing = err != nil
		pause(ctx, s.options.Interval)
	}
}

// walk goes through what is due once.
func (s *Sweeper[T, C]) walk(ctx context.Context) error {
	gained, err := s.shards.claim(ctx)
	if err != nil {
		return err
	}
	if gained || time.Since(s.started) >= s.options.StartOver {
		var start C
		s.after, s.started = start, time.Now()
	}
	for s.shards.any() {
		looked := time.Now()
		page, err := s.source.Page(ctx, s.after, s.options.Look)
		if err != nil {
			return fmt.Errorf("list what is due: %w", err)
		}
		// A long way to go must not keep the database busy: half of the time is rest.
		rest := time.Since(looked)
		for chunk := range slices.Chunk(s.requests(page.Items), s.options.Chunk) {
			began := time.Now()
			if err := s.submit(ctx, chunk); err != nil {
				return err
			}
			pause(ctx, time.Duration(len(chunk))*time.Second/time.Duration(s.options.Rate)-time.Since(began))
			if err := s.shards.keep(ctx); err != nil {
				return err
			}
		}
		s.after = page.Next
		if page.Last {
			return nil
		}
		pause(ctx, rest)
	}
	return nil
}

// requests are those about the items in shards held.
func (s *Sweeper[T, C]) requests(items []T) []coupon.Request {
	requests := make([]coupon.Request, 0, len(items))
	for _, item := range items {
		if s.shards.holds(s.source.Coupon(item)) {
			requests = append(requests, s.source.Request(item))
		}
	}
	s.due.Add(uint64(len(requests)))
	return requests
}

// submit asks the engine. An error says that the engine is closing, or ctx at its
// end, and that the page has to be walked again.
func (s *Sweeper[T, C]) submit(ctx context.Context, requests []coupon.Request) error {
	outcomes, errs := s.engine.SubmitAll(ctx, requests)
	var ended error
	for i, err := range errs {
		var refused *batcher.Error
		switch {
		case err == nil && outcomes[i].Status == coupon.Dead:
			s.refused(requests[i], string(outcomes[i].Code))
		case err == nil:
			s.submitted.Add(1)
		case errors.As(err, &refused):
			s.refused(requests[i], err.Error())
		default:
			s.failed.Add(1)
			ended = fmt.Errorf("ask the engine: %w", err)
		}
	}
	return ended
}

// refused reports a request that only a person can help. It does not hold up
// those behind it.
func (s *Sweeper[T, C]) refused(request coupon.Request, reason string) {
	s.failed.Add(1)
	s.options.Logger.Error("sweep request was refused", "sweep", s.source.Name,
		"request", request.ID, "coupons", request.Fact.Coupons(), "reason", reason)
}

// pause waits, but not beyond the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// shardOf gives the shard of a coupon.
func shardOf(id string, shards int) int {
	sum := fnv.New32a()
	sum.Write([]byte(id))
	return int(sum.Sum32() % uint32(shards))
}

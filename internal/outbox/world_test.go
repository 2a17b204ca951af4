package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"couponlease/internal/outbox"
)

var (
	errNacked      = errors.New("nacked")
	errUnconfirmed = errors.New("unconfirmed")
	errKilled      = errors.New("process was killed")
)

// broker takes messages and fails as it is told.
type broker struct {
	mu    sync.Mutex
	taken []string // message ids, in the order a queue took them
	calls int      // of PublishBatch
	most  int      // messages in one call

	// latency is how long confirmations take.
	latency time.Duration
	// answer, when set, decides about a batch: nil entries are taken.
	answer func(ctx context.Context, ids []string) []error
}

func (b *broker) PublishBatch(ctx context.Context, messages []outbox.Message, now time.Time) []error {
	ids := make([]string, len(messages))
	for i := range messages {
		ids[i] = messages[i].ID
	}
	b.mu.Lock()
	b.calls++
	b.most = max(b.most, len(ids))
	b.mu.Unlock()
	errs := make([]error, len(ids))
	if b.answer != nil {
		errs = b.answer(ctx, ids)
	}
	b.mu.Lock()
	for i, err := range errs {
		// What was sent may be in a queue although nobody confirmed it.
		if err == nil || errors.Is(err, errUnconfirmed) {
			b.taken = append(b.taken, ids[i])
		}
	}
	b.mu.Unlock()
	if b.latency > 0 {
		time.Sleep(b.latency)
	}
	return errs
}

func (b *broker) ids() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.taken)
}

// failing answers every message for which the error is not nil with it.
func failing(judge func(id string) error) func(context.Context, []string) []error {
	return func(_ context.Context, ids []string) []error {
		errs := make([]error, len(ids))
		for i, id := range ids {
			errs[i] = judge(id)
		}
		return errs
	}
}

// repeat gives a batch of n the same answer for each message.
func repeat(err error, n int) []error { return slices.Repeat([]error{err}, n) }

// process is a relay's process: once it is killed, nothing it does has an effect.
type process struct {
	outbox.Store
	publisher outbox.Publisher
	killed    atomic.Bool
	open      atomic.Int32 // fetches and removals under way
	fetches   atomic.Int32
	removals  atomic.Int32
	unparks   atomic.Int32
	// slow is how long a fetch takes.
	slow time.Duration
	// at is called at the named points; true kills the process there.
	at func(point string) bool
}

// The points at which a process can be killed.
const (
	fetched   = "after the fetch"
	sent      = "after publishing, before the confirmation"
	confirmed = "after the confirmation, before the removal"
	removed   = "after the removal, before it is known"
)

var points = []string{fetched, sent, confirmed, removed}

func (p *process) reach(point string) error {
	if !p.killed.Load() && p.at != nil && p.at(point) {
		p.killed.Store(true)
	}
	if p.killed.Load() {
		return errKilled
	}
	return nil
}

func (p *process) Acquire(ctx context.Context, shard int, owner string, ttl time.Duration) (int64, bool, error) {
	if p.killed.Load() {
		return 0, false, errKilled
	}
	return p.Store.Acquire(ctx, shard, owner, ttl)
}

func (p *process) Pending(ctx context.Context, shard int, fence int64, except []int64, rows, bytes int) ([]outbox.Row, error) {
	p.open.Add(1)
	defer p.open.Add(-1)
	p.fetches.Add(1)
	time.Sleep(p.slow)
	if p.killed.Load() {
		return nil, errKilled
	}
	found, err := p.Store.Pending(ctx, shard, fence, except, rows, bytes)
	if len(found) > 0 {
		if err := p.reach(fetched); err != nil {
			return nil, err
		}
	}
	return found, err
}

func (p *process) Done(ctx context.Context, shard int, fence int64, ids []int64) error {
	p.open.Add(1)
	defer p.open.Add(-1)
	p.removals.Add(1)
	if err := p.reach(confirmed); err != nil {
		return err
	}
	if err := p.Store.Done(ctx, shard, fence, ids); err != nil {
		return err
	}
	return p.reach(removed)
}

func (p *process) Park(ctx context.Context, shard int, fence int64, rows []outbox.Parking) error {
	if p.killed.Load() {
		return errKilled
	}
	return p.Store.Park(ctx, shard, fence, rows)
}

func (p *process) Unpark(ctx context.Context, shard int, fence int64, rest time.Duration, limit int) (int, error) {
	p.unparks.Add(1)
	if p.killed.Load() {
		return 0, errKilled
	}
	return p.Store.Unpark(ctx, shard, fence, rest, limit)
}

func (p *process) Release(ctx context.Context, shard int, fence int64) error {
	if p.killed.Load() {
		return errKilled
	}
	return p.Store.Release(ctx, shard, fence)
}

func (p *process) PublishBatch(ctx context.Context, messages []outbox.Message, now time.Time) []error {
	if p.killed.Load() {
		return repeat(errKilled, len(messages))
	}
	errs := p.publisher.PublishBatch(ctx, messages, now)
	if err := p.reach(sent); err != nil {
		return repeat(err, len(messages))
	}
	return errs
}

// world is a store, a broker, and the relays of some processes, in a bubble.
type world struct {
	*testing.T
	store  *outbox.Memory
	broker *broker
}

// inWorld runs a test in a bubble, where time passes only when all wait.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, &world{T: t, store: outbox.NewMemory(time.Now), broker: &broker{}})
	})
}

func (w *world) process() *process { return &process{Store: w.store, publisher: w.broker} }

// start runs a relay in the process; stop tells it to stop and waits for it.
func (w *world) start(p *process, options outbox.Options) (relay *outbox.Relay, stop func()) {
	w.Helper()
	options.Shards = max(1, options.Shards)
	if options.Owner == "" {
		options.Owner = fmt.Sprintf("%p", p)
	}
	relay, err := outbox.NewRelay(p, p, options)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() { defer close(done); relay.Run(ctx) }()
	return relay, func() { cancel(); <-done }
}

// commit makes a row with the given messages visible and returns its id.
func (w *world) commit(shard int, ids ...string) int64 {
	w.Helper()
	id := w.store.Draw()
	w.store.Commit(shard, id, row(w, ids...))
	return id
}

// row is the payload of a row with messages of the given ids; a message's key is
// its id, its exchange "events".
func row(t testing.TB, ids ...string) []byte {
	t.Helper()
	messages := make([]outbox.Message, len(ids))
	for i, id := range ids {
		messages[i] = outbox.Message{ID: id, Exchange: "events", Key: id, Mandatory: true}
	}
	payload, err := outbox.EncodeRow(messages)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

// await lets time pass until the condition holds, at most for limit.
func (w *world) await(what string, limit time.Duration, condition func() bool) {
	w.Helper()
	for start := time.Now(); ; {
		synctest.Wait()
		if condition() {
			return
		}
		if time.Since(start) > limit {
			w.Fatalf("%s: not within %v", what, limit)
		}
		time.Sleep(time.Millisecond)
	}
}

func (w *world) awaitEmpty(shard int, limit time.Duration) {
	w.Helper()
	w.await("outbox empty", limit, func() bool { return w.store.Count(shard) == 0 && len(w.store.Parked(shard)) == 0 })
}

// first keeps the first sighting of each id, last the last.
func first(ids []string) (kept []string) {
	for _, id := range ids {
		if !slices.Contains(kept, id) {
			kept = append(kept, id)
		}
	}
	return kept
}

func last(ids []string) []string {
	backwards := slices.Clone(ids)
	slices.Reverse(backwards)
	kept := first(backwards)
	slices.Reverse(kept)
	return kept
}

package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

var (
	errNotTried    = errors.New("not tried after an earlier failure")
	errNoAnswer    = errors.New("publisher gave no answer")
	errLeaseTooOld = fmt.Errorf("%w: found right before publishing", errLeaseEnded)
)

// session is the work on one shard under one lease. One goroutine walks from page
// to page: while it publishes one, the next is fetched and the removal of the one
// before goes on.
type session struct {
	store     Store
	publisher Publisher
	options   Options
	counts    *counts
	kick      <-chan struct{}
	log       *slog.Logger
	lease     *lease

	stop context.Context // ends when no more rows shall be taken
	work context.Context // ends when everything has to end

	ahead    chan page // the fetch under way, nil without one
	removal  chan error
	removing []int64 // the rows of the removal under way

	poll     time.Duration // the next wait on an empty shard
	unparkAt time.Time

	failures int   // pages in a row that ended in a failure
	suspect  int64 // the row that failed last
	returns  int   // how often in a row suspect failed for returned messages only
	dead     deadRoutes
}

type page struct {
	entries []entry
	err     error
}

func newSession(r *Relay, l *lease, stop, work context.Context) *session {
	return &session{
		store:     r.store,
		publisher: r.publisher,
		options:   r.options,
		counts:    &r.shards[l.shard].counts,
		kick:      r.shards[l.shard].kick,
		log:       r.options.Logger.With("shard", l.shard, "fence", l.fence),
		lease:     l,
		stop:      stop,
		work:      work,
		poll:      r.options.PollBusy,
		dead:      deadRoutes{},
	}
}

// run returns why the session ended, never nil.
func (s *session) run() error {
	err := s.walk()
	s.forgetAhead()
	return errors.Join(err, s.awaitRemoval())
}

func (s *session) walk() error {
	for {
		entries, err := s.next()
		if err != nil {
			return err
		}
		s.fetchAhead(entries)
		errs, err := s.publish(entries)
		if err != nil {
			return err
		}
		v := s.judge(entries, errs)
		if err := s.remove(v); err != nil {
			return err
		}
		s.learn(v)
	}
}

// over tells whether to go on to another page.
func (s *session) over() error {
	if s.work.Err() != nil {
		return context.Cause(s.work)
	}
	if s.stop.Err() != nil {
		return errStopped
	}
	return nil
}

// next waits for rows and returns a page of them.
func (s *session) next() ([]entry, error) {
	for failures := 0; ; {
		if err := s.over(); err != nil {
			return nil, err
		}
		entries, err := s.look()
		switch {
		case errors.Is(err, ErrFenced):
			return nil, err
		case err != nil && s.over() == nil:
			failures++
			s.log.Warn("cannot read the outbox", "error", err, "failures", failures)
			s.pause(s.options.backoff(failures), nil)
		case len(entries) > 0:
			s.poll = s.options.PollBusy
			s.counts.fetched.Add(uint64(len(entries)))
			oldest := entries[0].CreatedAt
			s.counts.oldest.Store(&oldest)
			return entries, nil
		case err == nil:
			failures = 0
			s.counts.oldest.Store(nil)
			s.idle()
		}
	}
}

func (s *session) look() ([]entry, error) {
	// Rows of a removal that is through are not left out any longer: a parked one
	// may be pending again.
	if err := s.noteRemoval(); err != nil {
		return nil, err
	}
	if err := s.unpark(); err != nil {
		return nil, err
	}
	return s.take()
}

// idle waits until it is worth looking again.
func (s *session) idle() {
	if kicked := s.pause(s.poll, s.kick); kicked {
		s.poll = s.options.PollBusy
		return
	}
	s.poll = min(2*s.poll, s.options.PollIdle)
}

func (s *session) pause(d time.Duration, kick <-chan struct{}) (kicked bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.stop.Done():
	case <-s.work.Done():
	case <-kick:
		return true
	}
	return false
}

// take returns the page that was fetched ahead, or fetches one.
func (s *session) take() ([]entry, error) {
	if s.ahead == nil {
		p := s.fetch(s.removing, s.rows())
		return p.entries, p.err
	}
	p := <-s.ahead
	s.ahead = nil
	return p.entries, p.err
}

func (s *session) fetchAhead(current []entry) {
	except := slices.Clone(s.removing)
	for i := range current {
		except = append(except, current[i].ID)
	}
	ahead, rows := make(chan page, 1), s.rows()
	s.ahead = ahead
	go func() { ahead <- s.fetch(except, rows) }()
}

func (s *session) forgetAhead() {
	if s.ahead != nil {
		<-s.ahead
		s.ahead = nil
	}
}

// rows is how many rows to fetch at once. After a failure it is one at a time
// until one goes through: what is behind it need not be sent again and again.
func (s *session) rows() int {
	if s.failures > 0 {
		return 1
	}
	return s.options.Rows
}

// fetch reads nothing of the session that changes: it runs beside it.
func (s *session) fetch(except []int64, limit int) page {
	rows, err := s.store.Pending(s.work, s.lease.shard, s.lease.fence, except, limit, s.options.Bytes)
	if err != nil {
		return page{err: fmt.Errorf("fetch outbox rows: %w", err)}
	}
	return page{entries: decode(rows)}
}

// unpark takes parked rows up again now and then.
func (s *session) unpark() error {
	now := time.Now()
	if now.Before(s.unparkAt) {
		return nil
	}
	n, err := s.store.Unpark(s.work, s.lease.shard, s.lease.fence, s.options.ParkRest, s.options.Rows)
	if err != nil {
		return fmt.Errorf("unpark outbox rows: %w", err)
	}
	s.counts.unparked.Add(uint64(n))
	if n < s.options.Rows {
		s.unparkAt = now.Add(s.options.ParkRest / 4)
	}
	return nil
}

// publish returns one error per message of the page, or an error when the session
// has to end.
func (s *session) publish(entries []entry) ([]error, error) {
	var messages []Message
	for i := range entries {
		messages = append(messages, entries[i].messages...)
	}
	errs := make([]error, 0, len(messages))
	for chunk := range slices.Chunk(messages, s.options.Messages) {
		if s.lease.left() <= 0 {
			return nil, errLeaseTooOld
		}
		answers := s.publishChunk(chunk)
		errs = append(errs, answers...)
		if s.count(answers) {
			break
		}
	}
	for len(errs) < len(messages) {
		errs = append(errs, errNotTried)
		s.counts.failed.Add(1)
	}
	if s.work.Err() != nil {
		return nil, context.Cause(s.work)
	}
	s.dead.remove(messages, errs)
	return errs, nil
}

func (s *session) publishChunk(chunk []Message) []error {
	ctx, cancel := context.WithTimeout(s.work, s.options.PublishTimeout)
	defer cancel()
	s.counts.published.Add(uint64(len(chunk)))
	errs := s.publisher.PublishBatch(ctx, chunk, s.options.Now())
	for len(errs) < len(chunk) {
		errs = append(errs, errNoAnswer)
	}
	return errs[:len(chunk)]
}

// count reports whether anything failed in a way that makes it pointless to send
// what comes behind.
func (s *session) count(errs []error) (failed bool) {
	for _, err := range errs {
		switch {
		case err == nil:
			s.counts.confirmed.Add(1)
		case errors.Is(err, ErrReturned):
			s.counts.returned.Add(1)
		default:
			s.counts.failed.Add(1)
			failed = true
		}
	}
	return failed
}

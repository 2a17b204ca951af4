package outbox

import (
	"errors"
	"fmt"
	"time"
)

func (s *session) judge(entries []entry, errs []error) verdict {
	now := time.Now()
	return judge(entries, errs, func(row *entry, left []Message) bool {
		if row.Parks > 0 || s.dead.haveAll(left, now) {
			return true
		}
		if row.ID != s.suspect || s.returns+1 < s.options.ReturnAttempts {
			return false
		}
		s.dead.add(left, now, now.Add(s.options.ParkRest))
		return true
	})
}

// remove starts to take the settled rows out of the store, once the removal
// before is through.
func (s *session) remove(v verdict) error {
	if err := s.awaitRemoval(); err != nil {
		return err
	}
	if len(v.done)+len(v.parks) == 0 {
		return nil
	}
	s.removing = append(s.removing[:0], v.done...)
	for _, p := range v.parks {
		s.removing = append(s.removing, p.ID)
		s.log.Warn("outbox row parked", "row", p.ID, "reason", p.Reason)
	}
	removal := make(chan error, 1)
	s.removal = removal
	go func() { removal <- s.persist(v) }()
	return nil
}

func (s *session) awaitRemoval() error {
	if s.removal == nil {
		return nil
	}
	return s.removed(<-s.removal)
}

// noteRemoval is awaitRemoval without the waiting.
func (s *session) noteRemoval() error {
	select {
	case err := <-s.removal:
		return s.removed(err)
	default:
		return nil
	}
}

func (s *session) removed(err error) error {
	s.removal, s.removing = nil, s.removing[:0]
	return err
}

// persist tries until the store has it, the lease is lost or time is up.
func (s *session) persist(v verdict) error {
	for failures := 1; ; failures++ {
		err := s.record(v)
		if err == nil {
			s.counts.done.Add(uint64(len(v.done)))
			s.counts.parked.Add(uint64(len(v.parks)))
			return nil
		}
		if errors.Is(err, ErrFenced) || s.work.Err() != nil {
			return err
		}
		s.log.Warn("cannot settle published outbox rows", "error", err, "failures", failures)
		sleep(s.work, s.options.backoff(failures))
	}
}

func (s *session) record(v verdict) error {
	if len(v.done) > 0 {
		if err := s.store.Done(s.work, s.lease.shard, s.lease.fence, v.done); err != nil {
			return fmt.Errorf("remove published outbox rows: %w", err)
		}
	}
	if len(v.parks) > 0 {
		if err := s.store.Park(s.work, s.lease.shard, s.lease.fence, v.parks); err != nil {
			return fmt.Errorf("park outbox rows: %w", err)
		}
	}
	return nil
}

// learn draws the consequences of a page for the next one. After a failure it
// waits, and drops the page fetched ahead: what failed goes first.
func (s *session) learn(v verdict) {
	if v.failed == nil {
		s.failures, s.suspect, s.returns = 0, 0, 0
		return
	}
	if v.failed.ID != s.suspect || !v.returned {
		s.returns = 0
	}
	if v.returned {
		s.returns++
	}
	s.suspect = v.failed.ID
	s.failures++
	s.counts.retries.Add(1)
	s.log.Warn("outbox row was not published", "row", v.failed.ID, "failures", s.failures, "error", v.cause)
	s.forgetAhead()
	s.pause(s.options.backoff(s.failures), nil)
}

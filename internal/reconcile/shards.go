package reconcile

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Leases hands out the right to work on a numbered part, for a while, to one
// owner at a time. The outbox has such leases; the sweeper takes numbers of its
// own from them.
type Leases interface {
	// Acquire takes the lease of a part for ttl if it is free or over, and extends
	// it, with the same fence, if owner holds it.
	Acquire(ctx context.Context, part int, owner string, ttl time.Duration) (fence int64, held bool, err error)
	// Release gives a lease up.
	Release(ctx context.Context, part int, fence int64) error
}

// Shards is a replica's share of a sweep. It claims one more shard with each
// walk, as long as one is free, so that replicas that start together share, and
// the last one left does everything. It is used by one Sweeper.
type Shards struct {
	leases Leases
	owner  string
	first  int
	ttl    time.Duration
	held   []int64 // the fence of each shard, 0 where it is not ours
	next   int     // where to look for a free shard
	kept   time.Time
}

// NewShards divides a sweep into count shards, whose leases are numbered from
// first. Leases last for ttl, which must be well above the interval of the walks.
func NewShards(leases Leases, owner string, first, count int, ttl time.Duration) *Shards {
	// Owners begin to look at different places.
	return &Shards{
		leases: leases, owner: owner, first: first, ttl: ttl,
		held: make([]int64, count), next: shardOf(owner, count),
	}
}

// claim extends the leases held and takes one more. It says whether a shard was
// gained that was not ours before.
func (s *Shards) claim(ctx context.Context) (gained bool, err error) {
	lapsed, err := s.extend(ctx)
	if err != nil {
		return false, err
	}
	for range s.held {
		shard := s.next
		s.next = (s.next + 1) % len(s.held)
		if s.held[shard] != 0 {
			continue
		}
		fence, held, err := s.leases.Acquire(ctx, s.first+shard, s.owner, s.ttl)
		if err != nil {
			return false, fmt.Errorf("claim shard %d of the sweep: %w", shard, err)
		}
		if held {
			s.held[shard] = fence
			return true, nil
		}
	}
	return lapsed, nil
}

// keep extends the leases held when a walk takes long.
func (s *Shards) keep(ctx context.Context) error {
	if time.Since(s.kept) < s.ttl/3 {
		return nil
	}
	_, err := s.extend(ctx)
	return err
}

// extend says whether a lease had lapsed and was taken anew: somebody else may
// have held it meanwhile.
func (s *Shards) extend(ctx context.Context) (lapsed bool, err error) {
	for shard, fence := range s.held {
		if fence == 0 {
			continue
		}
		now, held, err := s.leases.Acquire(ctx, s.first+shard, s.owner, s.ttl)
		if err != nil {
			return lapsed, fmt.Errorf("keep shard %d of the sweep: %w", shard, err)
		}
		if !held {
			now = 0
		}
		s.held[shard] = now
		lapsed = lapsed || held && now != fence
	}
	s.kept = time.Now()
	return lapsed, nil
}

func (s *Shards) any() bool {
	return slices.ContainsFunc(s.held, func(fence int64) bool { return fence != 0 })
}

func (s *Shards) holds(coupon string) bool { return s.held[shardOf(coupon, len(s.held))] != 0 }

// releaseTimeout bounds how long giving up the leases may take.
const releaseTimeout = 2 * time.Second

// release gives up all leases. One that stays ends by itself.
func (s *Shards) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	for shard, fence := range s.held {
		if fence != 0 && s.leases.Release(ctx, s.first+shard, fence) != nil {
			return
		}
	}
}

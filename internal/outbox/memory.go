package outbox

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a Store without a database: the outbox of the memory world. A call
// that gets a context that has ended does nothing and returns its error.
type Memory struct {
	now func() time.Time

	mu     sync.Mutex
	drawn  int64
	shards map[int]*memoryShard
}

type memoryShard struct {
	fence   int64
	owner   string
	until   time.Time
	pending []Row // by id
	parked  map[int64]Parked
}

// Parked is a row that was put aside.
type Parked struct {
	Row
	Reason string
	At     time.Time
}

// NewMemory returns an empty store whose clock is now.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, shards: map[int]*memoryShard{}}
}

// Draw takes the next row id from the sequence. The row becomes visible with
// Commit, which may happen in any order or never.
func (m *Memory) Draw() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drawn++
	return m.drawn
}

// Commit makes a row visible.
func (m *Memory) Commit(shard int, id int64, payload []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shard(shard).insert(Row{ID: id, Payload: slices.Clone(payload), CreatedAt: m.now()})
}

// Count returns how many rows of the shard are pending.
func (m *Memory) Count(shard int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.shard(shard).pending)
}

// Parked returns the parked rows of the shard, lowest id first.
func (m *Memory) Parked(shard int) []Parked {
	m.mu.Lock()
	defer m.mu.Unlock()
	parked := m.shard(shard).parked
	return slices.SortedFunc(maps.Values(parked), func(a, b Parked) int { return cmp.Compare(a.ID, b.ID) })
}

// Acquire implements Store.
func (m *Memory) Acquire(ctx context.Context, shard int, owner string, ttl time.Duration) (int64, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	s, now := m.shard(shard), m.now()
	live := now.Before(s.until)
	if live && s.owner != owner {
		return 0, false, nil
	}
	if !live {
		s.fence++
	}
	s.owner, s.until = owner, now.Add(ttl)
	return s.fence, true, nil
}

// Pending implements Store.
func (m *Memory) Pending(ctx context.Context, shard int, fence int64, except []int64, rows, bytes int) ([]Row, error) {
	var found []Row
	err := m.fenced(ctx, shard, fence, func(s *memoryShard) {
		for _, row := range s.pending {
			if len(found) == rows || bytes <= 0 {
				return
			}
			if slices.Contains(except, row.ID) {
				continue
			}
			bytes -= len(row.Payload)
			found = append(found, row)
		}
	})
	return found, err
}

// Done implements Store.
func (m *Memory) Done(ctx context.Context, shard int, fence int64, ids []int64) error {
	return m.fenced(ctx, shard, fence, func(s *memoryShard) {
		for _, id := range ids {
			s.take(id)
		}
	})
}

// Park implements Store.
func (m *Memory) Park(ctx context.Context, shard int, fence int64, rows []Parking) error {
	return m.fenced(ctx, shard, fence, func(s *memoryShard) {
		for _, p := range rows {
			row, ok := s.take(p.ID)
			if !ok {
				continue
			}
			if p.Payload != nil {
				row.Payload = slices.Clone(p.Payload)
			}
			row.Parks++
			s.parked[row.ID] = Parked{Row: row, Reason: p.Reason, At: m.now()}
		}
	})
}

// Unpark implements Store.
func (m *Memory) Unpark(ctx context.Context, shard int, fence int64, rest time.Duration, limit int) (int, error) {
	var rested []Parked
	err := m.fenced(ctx, shard, fence, func(s *memoryShard) {
		latest := m.now().Add(-rest)
		for _, p := range s.parked {
			if !p.At.After(latest) {
				rested = append(rested, p)
			}
		}
		slices.SortFunc(rested, func(a, b Parked) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
		rested = rested[:min(limit, len(rested))]
		for _, p := range rested {
			delete(s.parked, p.ID)
			s.insert(p.Row)
		}
	})
	return len(rested), err
}

// Release implements Store.
func (m *Memory) Release(ctx context.Context, shard int, fence int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s := m.shard(shard); s.fence == fence {
		s.owner, s.until = "", time.Time{}
	}
	return nil
}

func (m *Memory) fenced(ctx context.Context, shard int, fence int64, do func(*memoryShard)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	s := m.shard(shard)
	if s.fence != fence {
		return ErrFenced
	}
	do(s)
	return nil
}

func (m *Memory) shard(number int) *memoryShard {
	s, ok := m.shards[number]
	if !ok {
		s = &memoryShard{parked: map[int64]Parked{}}
		m.shards[number] = s
	}
	return s
}

func (s *memoryShard) insert(row Row) {
	i, _ := s.find(row.ID)
	s.pending = slices.Insert(s.pending, i, row)
}

func (s *memoryShard) take(id int64) (Row, bool) {
	i, ok := s.find(id)
	if !ok {
		return Row{}, false
	}
	row := s.pending[i]
	s.pending = slices.Delete(s.pending, i, i+1)
	return row, true
}

func (s *memoryShard) find(id int64) (int, bool) {
	return slices.BinarySearchFunc(s.pending, id, func(r Row, id int64) int { return cmp.Compare(r.ID, id) })
}

package simulate

import (
	"context"
	"sync"

	"couponlease/internal/claims"
	"couponlease/internal/coupon"
)

// Pool is a claims.Pool in memory. It never fails and forgets nothing, whatever the time.
type Pool struct {
	mutex  sync.Mutex
	stocks map[string]*stock
	taken  map[takenKey]int64 // the generation in which a request took a coupon
	met    map[takenKey]bool  // whether another message of it came since
}

type takenKey struct{ template, request string }

// stock is what a campaign may still hand out, and what persons took of it.
type stock struct {
	claims.Stock
	persons map[string]int64
	days    map[dayKey]int64
	// seen are those who got something, whether or not it was given back. All of them are
	// known, and of nobody-known all requests are.
	seen            map[string]bool
	knowsAll, exact bool
}

type dayKey struct{ person, day string }

var _ claims.Pool = (*Pool)(nil)

// NewPool gives a pool that knows no campaign.
func NewPool() *Pool {
	return &Pool{stocks: map[string]*stock{}, taken: map[takenKey]int64{}, met: map[takenKey]bool{}}
}

// Take implements claims.Pool.
func (p *Pool) Take(_ context.Context, asks []claims.Ask) []claims.Taken {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	answers := make([]claims.Taken, len(asks))
	for i, a := range asks {
		s := p.stocks[a.Template]
		if s == nil {
			answers[i].Verdict = claims.NotLoaded
			continue
		}
		answers[i] = p.judge(s, a)
		switch answers[i].Verdict {
		case claims.Granted:
			p.grant(s, a)
		case claims.Already:
			p.met[takenKey{a.Template, a.Request}] = true
		}
	}
	return answers
}

func (p *Pool) judge(s *stock, a claims.Ask) claims.Taken {
	answer := claims.Taken{Verdict: claims.Granted, Generation: s.Generation}
	_, isTaken := p.taken[takenKey{a.Template, a.Request}]
	switch {
	case s.Generation != a.Generation:
		answer.Verdict = claims.NotLoaded
	case isTaken:
		answer.Verdict = claims.Already
	case s.Left == 0:
		answer.Verdict, answer.Held = claims.SoldOut, s.mayHave(a.Person)
	case a.Person == "":
	case s.PerPerson != coupon.NoLimit && s.persons[a.Person] >= s.PerPerson:
		answer.Verdict, answer.Held = claims.UserLimit, true
	case a.Day != "" && s.PerDay != coupon.NoLimit && s.days[dayKey{a.Person, a.Day}] >= s.PerDay:
		answer.Verdict, answer.Held = claims.DayLimit, true
	}
	return answer
}

// mayHave says whether somebody may have got something.
func (s *stock) mayHave(person string) bool {
	if person == "" {
		return !s.exact
	}
	return s.seen[person] || !s.knowsAll
}

func (p *Pool) grant(s *stock, a claims.Ask) {
	if s.Left != coupon.NoLimit {
		s.Left--
	}
	if a.Person != "" {
		s.persons[a.Person]++
		s.seen[a.Person] = true
		if a.Day != "" {
			s.days[dayKey{a.Person, a.Day}]++
		}
	}
	p.taken[takenKey{a.Template, a.Request}] = s.Generation
	delete(p.met, takenKey{a.Template, a.Request})
}

// GiveBack implements claims.Pool.
func (p *Pool) GiveBack(_ context.Context, returns []claims.Return) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, r := range returns {
		p.giveBack(r)
	}
	return nil
}

func (p *Pool) giveBack(r claims.Return) {
	key := takenKey{r.Template, r.Request}
	generation, isTaken := p.taken[key]
	if !isTaken || generation > r.Generation || r.Alone && p.met[key] {
		return
	}
	delete(p.taken, key)
	s := p.stocks[r.Template]
	if s == nil || s.Generation != generation || r.Generation != generation {
		return
	}
	if s.Left != coupon.NoLimit {
		s.Left++
	}
	if r.Person != "" {
		settle(s.persons, r.Person, s.PerPerson, r.Why == claims.UserLimit)
		if r.Day != "" {
			settle(s.days, dayKey{r.Person, r.Day}, s.PerDay, r.Why == claims.DayLimit)
		}
	}
}

// settle makes one less of a count, or the limit when the person is known to be at it.
func settle[K comparable](counts map[K]int64, key K, limit int64, isAt bool) {
	switch {
	case !isAt:
		counts[key] = max(counts[key]-1, 0)
	case limit != coupon.NoLimit:
		counts[key] = limit
	}
}

// Load implements claims.Pool.
func (p *Pool) Load(_ context.Context, loaded claims.Stock) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if loaded.Left != coupon.NoLimit {
		loaded.Left = max(loaded.Left, 0)
	}
	before := p.stocks[loaded.Template]
	if before != nil && before.Generation > loaded.Generation {
		return nil
	}
	s := &stock{
		Stock: loaded, persons: map[string]int64{}, days: map[dayKey]int64{}, seen: map[string]bool{},
		knowsAll: loaded.Fresh, exact: loaded.Fresh,
	}
	if before != nil && before.Generation == loaded.Generation {
		s.persons, s.days, s.seen = before.persons, before.days, before.seen
	}
	p.stocks[loaded.Template] = s
	return nil
}

// Recall implements claims.Pool.
func (p *Pool) Recall(_ context.Context, template string, generation int64, persons []string, last bool) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	s := p.stocks[template]
	if s == nil || s.Generation != generation {
		return nil
	}
	for _, person := range persons {
		s.seen[person] = true
	}
	s.knowsAll = s.knowsAll || last
	return nil
}

// Level implements claims.Pool.
func (p *Pool) Level(_ context.Context, template string) (claims.Level, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	s := p.stocks[template]
	if s == nil {
		return claims.Level{}, nil
	}
	return claims.Level{
		Loaded: true, Generation: s.Generation, Left: s.Left, PerPerson: s.PerPerson, PerDay: s.PerDay,
		Complete: s.knowsAll,
	}, nil
}

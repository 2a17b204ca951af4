package claims_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"couponlease/internal/claims"
	"couponlease/internal/coupon"
)

// Whatever comes together - claims at two replicas, repeats, edits, and a pool that forgets,
// is restored, is away, answers nothing or loses returns - never more goes out than there
// is, a person never has more than allowed, a key always gets its coupon again, and at rest
// the pool is right after the survey has looked twice.
func TestNeverMoreThanThereIs(t *testing.T) {
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		total := rapid.Int64Range(0, 6).Draw(rt, "total")
		w := newWorld(t, of(total, rapid.SampledFrom([]int64{1, 2, coupon.NoLimit}).Draw(rt, "per person")))
		s := &scene{rt: rt, w: w, desks: []*claims.Desk{w.desk, w.open()}, granted: map[string]grant{}}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			s.step()
			s.check()
		}
		s.rest()
	})
}

// grant is who got which coupon.
type grant struct{ person, coupon string }

type scene struct {
	rt      *rapid.T
	w       *world
	desks   []*claims.Desk
	mutex   sync.Mutex
	granted map[string]grant // by key
	// isTroubled says that something else than claims and looks has happened.
	isTroubled bool
}

func (s *scene) step() {
	p := s.w.pool
	step := rapid.SampledFrom([]string{
		"claims", "claims", "claims", "claims", "forget", "away", "silent", "lost", "well", "edit", "survey", "engine",
	}).Draw(s.rt, "step")
	s.isTroubled = s.isTroubled || step != "claims" && step != "survey"
	switch step {
	case "claims":
		s.claims()
	case "forget":
		p.forget()
	case "away":
		p.let(&p.away, true)
	case "silent":
		p.let(&p.takesSilent, true)
	case "lost":
		p.let(&p.returnsLost, true)
	case "well":
		s.heal()
	case "edit":
		s.edit()
	case "survey":
		s.w.pass(tick)
		s.survey()
	case "engine":
		s.w.mutex.Lock()
		s.w.engineFails = append(s.w.engineFails, errAway)
		s.w.mutex.Unlock()
	}
}

// heal ends all trouble, which every replica hears of, and mends what it did meanwhile.
func (s *scene) heal() {
	p := s.w.pool
	for _, trouble := range []*bool{&p.away, &p.takesSilent, &p.returnsLost} {
		p.let(trouble, false)
	}
	s.w.mutex.Lock()
	s.w.engineFails = nil
	s.w.mutex.Unlock()
	for _, desk := range s.desks {
		desk.Mend(context.Background())
	}
}

// claims has several people claim at once, at both replicas.
func (s *scene) claims() {
	var group sync.WaitGroup
	for range rapid.IntRange(1, 4).Draw(s.rt, "at once") {
		person := rapid.SampledFrom([]string{"ann", "bob", "cyd", "dee", "eve"}).Draw(s.rt, "person")
		key := fmt.Sprintf("%s %d", person, rapid.IntRange(1, 3).Draw(s.rt, "key"))
		if rapid.IntRange(0, 7).Draw(s.rt, "stolen") == 0 {
			person = "mallory" // with somebody else's key
		}
		desk := s.desks[rapid.IntRange(0, 1).Draw(s.rt, "replica")]
		request := s.w.ask(person, key)
		group.Go(func() {
			if outcome, err := submit(desk, request); err == nil {
				s.answered(key, person, outcome)
			}
		})
	}
	group.Wait()
}

func (s *scene) answered(key, person string, outcome coupon.Outcome) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	got := grant{person, outcome.Answer.Coupon}
	switch before, known := s.granted[key]; {
	case got.coupon == "": // it may have been asked before the one that got something; in the end all are asked again
	case known && got != before:
		s.w.t.Errorf("key %s got %v and then %+v", key, before, outcome)
	default:
		s.granted[key] = got
	}
}

func (s *scene) edit() {
	t := s.w.template()
	total := t.Issued + rapid.Int64Range(0, 3).Draw(s.rt, "more")
	if total != t.Total {
		s.w.edit(coupon.TermsEdit{Total: &total})
	}
}

func (s *scene) survey() {
	drifts, err := s.w.survey.Look(context.Background(), s.w.clock())
	if err != nil {
		return // the pool is away
	}
	for _, drift := range drifts {
		_ = s.desks[0].Repair(context.Background(), drift) // it may fail, and comes again
	}
	for _, desk := range s.desks {
		desk.Mend(context.Background())
	}
	for _, template := range s.w.survey.Incomplete() {
		_ = s.desks[1].Recall(context.Background(), template) // as above
	}
}

func (s *scene) check() {
	t := s.w.template()
	if t.Total != coupon.NoLimit && t.Issued > t.Total {
		s.rt.Fatalf("%d issued of %d", t.Issued, t.Total)
	}
	if broken, err := s.w.ledger.Violations(context.Background()); err != nil || len(broken) > 0 {
		s.rt.Fatalf("%v, %v", broken, err)
	}
	if level := s.w.level(); !s.isTroubled && level.Generation == t.Generation && level.Left > t.Left() {
		s.rt.Fatalf("without any trouble the pool has %d left and the books %d", level.Left, t.Left())
	}
}

// rest wants everything to be right once nothing happens any more.
func (s *scene) rest() {
	s.heal()
	for key, got := range s.granted {
		outcome, err := submit(s.desks[1], s.w.ask(got.person, key))
		if err != nil || outcome.Answer.Coupon != got.coupon {
			s.rt.Fatalf("key %s got %v and in the end %+v, %v", key, got, outcome, err)
		}
	}
	for range 3 {
		s.w.pass(tick)
		s.survey()
	}
	t, level := s.w.template(), s.w.level()
	if level.Loaded && (level.Left != t.Left() || level.Generation != t.Generation) {
		s.rt.Fatalf("the pool has %+v, the books generation %d and %d left", level, t.Generation, t.Left())
	}
}

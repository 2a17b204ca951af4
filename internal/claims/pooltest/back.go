package pooltest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"couponlease/internal/claims"
)

func givesBackOnce(_ *testing.T, b *bench) {
	s := stock(2)
	s.PerPerson, s.PerDay = 1, 1
	b.load(s)
	taken := onDay("r1", "ann", "2026-03-01")
	b.giveBack(claims.Return{Ask: taken}) // it took nothing yet
	b.left(2)
	b.says(claims.Granted, false, taken)
	b.says(claims.Granted, false, onDay("r2", "bob", "2026-03-01"))
	b.left(0)
	b.giveBack(claims.Return{Ask: taken}, claims.Return{Ask: taken})
	b.giveBack(claims.Return{Ask: taken})
	b.left(1)
	// The person and the day are free again, and the request may take once more.
	b.says(claims.Granted, false, taken)
	b.says(claims.SoldOut, true, onDay("r3", "ann", "2026-03-01"))
	b.giveBack(claims.Return{Ask: taken, Why: claims.SoldOut})
	b.left(1)
	b.says(claims.Granted, false, onDay("r4", "ann", "2026-03-01"))
	b.left(0)
}

// What a request took since then is not what a late return means.
func givesBackOwn(_ *testing.T, b *bench) {
	b.load(stock(5))
	b.says(claims.Granted, false, ask("r1", "ann"))
	b.giveBack(claims.Return{Ask: ask("r1", "ann")})
	next := stock(5)
	next.Generation = 2
	b.load(next)
	b.says(claims.Granted, false, in(2, ask("r1", "ann")))
	b.giveBack(claims.Return{Ask: ask("r1", "ann")})
	b.left(4)
	b.says(claims.Already, false, in(2, ask("r1", "ann")))
	b.giveBack(claims.Return{Ask: in(2, ask("r1", "ann"))})
	b.left(5)
	// A return that counts nobody frees nobody.
	b.says(claims.Granted, false, in(2, ask("r2", "ann")))
	b.giveBack(claims.Return{Ask: in(2, ask("r2", ""))})
	b.left(5)
	next.Left = 0
	b.load(next)
	b.says(claims.SoldOut, true, in(2, ask("r3", "ann")))
}

func givesBackNothing(_ *testing.T, b *bench) {
	s := stock(5)
	b.load(s)
	for _, request := range []string{"r1", "r2", "r3"} {
		b.says(claims.Granted, false, ask(request, "ann"))
	}
	// A generation that the pool does not know yet.
	b.giveBack(claims.Return{Ask: in(9, ask("r3", "ann"))})
	b.left(2)
	s.Generation, s.Left = 2, 3
	b.load(s)
	b.says(claims.Granted, false, in(2, ask("r4", "ann")))
	b.giveBack(claims.Return{Ask: ask("r1", "ann")}, claims.Return{Ask: in(2, ask("r2", "ann"))})
	b.left(2)
	// They are no longer known to have taken something, and the count of the person is as it was.
	b.says(claims.Granted, false, in(2, ask("r1", "ann")))
	b.says(claims.Granted, false, in(2, ask("r2", "bob")))
	b.says(claims.SoldOut, true, in(2, ask("r5", "ann")))
	b.giveBack(claims.Return{Ask: in(2, ask("r1", "ann"))})
	b.left(1)
	b.says(claims.Granted, false, in(2, ask("r6", "cyd")))
	b.says(claims.SoldOut, true, in(2, ask("r5", "ann")))
}

func believes(t *testing.T, b *bench) {
	const today, tomorrow = "2026-03-01", "2026-03-02"
	for _, test := range []struct {
		why             claims.Verdict
		today, tomorrow claims.Verdict
	}{
		{"", claims.Granted, claims.Granted},
		{claims.SoldOut, claims.Granted, claims.Granted},
		{claims.UserLimit, claims.UserLimit, claims.UserLimit},
		{claims.DayLimit, claims.DayLimit, claims.Granted},
	} {
		t.Run("told "+string(test.why), func(t *testing.T) {
			b := &bench{t: t, pool: b.pool}
			s := stock(9)
			s.Template += string(test.why)
			s.PerPerson, s.PerDay, s.Fresh = 3, 2, false
			b.load(s)
			here := func(request, day string) claims.Ask {
				a := onDay(request, "ann", day)
				a.Template = s.Template
				return a
			}
			b.says(claims.Granted, false, here("r1", today))
			for range 2 {
				b.giveBack(claims.Return{Ask: here("r1", today), Why: test.why})
			}
			if got := b.level(s.Template).Left; got != 9 {
				t.Errorf("%d are left, want 9", got)
			}
			b.says(test.today, test.today != claims.Granted, here("r2", today))
			b.says(test.tomorrow, test.tomorrow != claims.Granted, here("r3", tomorrow))
		})
	}
}

// Of many who ask at once, some of them twice, exactly as many get one as there are.
func races(t *testing.T, b *bench) {
	const left, askers, each = 150, 8, 50
	s := stock(left)
	s.PerPerson = 1
	b.load(s)
	var granted, other atomic.Int64
	var group sync.WaitGroup
	for asker := range askers {
		group.Go(func() {
			for i := range each {
				var asks []claims.Ask
				for twin := range 3 {
					// Neighbours share persons, and a third of the asks repeats what somebody else asks.
					person := number("p", (asker/2)*each+i)
					asks = append(asks, ask(number("r", (asker/(1+twin%2))*1000+i*3+twin), person))
				}
				for _, taken := range b.pool.Take(context.Background(), asks) {
					switch taken.Verdict {
					case claims.Granted:
						granted.Add(1)
					case claims.Already, claims.UserLimit, claims.SoldOut:
					default:
						other.Add(1)
					}
				}
			}
		})
	}
	group.Wait()
	if granted.Load() != left || other.Load() != 0 {
		t.Errorf("%d were handed out, want %d; %d answers are neither yes nor no", granted.Load(), left, other.Load())
	}
	b.left(0)
}

func racesBack(_ *testing.T, b *bench) {
	b.load(stock(10))
	taken := ask("r1", "ann")
	b.says(claims.Granted, false, taken)
	b.says(claims.Granted, false, ask("r2", "ann"))
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if err := b.pool.GiveBack(context.Background(), []claims.Return{{Ask: taken}}); err != nil {
				b.t.Error(err)
			}
		})
	}
	group.Wait()
	b.left(9)
	empty := stock(0)
	b.load(empty)
	b.says(claims.SoldOut, true, ask("r3", "ann"))
}

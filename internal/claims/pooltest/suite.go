package pooltest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/claims"
	"couponlease/internal/coupon"
)

// Of everything that speaks against a claim, the first in the order of verdicts is said.
func verdicts(t *testing.T, b *bench) {
	const limits = 1
	for _, test := range []struct {
		name                                      string
		isOther, isRepeated, isOut, isUser, isDay bool
		want                                      claims.Verdict
		isHeld                                    bool
	}{
		{name: "nothing", want: claims.Granted},
		{name: "day", isDay: true, want: claims.DayLimit, isHeld: true},
		{name: "user", isUser: true, want: claims.UserLimit, isHeld: true},
		{name: "user and day", isUser: true, isDay: true, want: claims.UserLimit, isHeld: true},
		{name: "out", isOut: true, want: claims.SoldOut},
		{name: "out and day", isOut: true, isDay: true, want: claims.SoldOut, isHeld: true},
		{name: "out and user", isOut: true, isUser: true, want: claims.SoldOut, isHeld: true},
		{name: "repeated", isRepeated: true, want: claims.Already},
		{name: "repeated and out", isRepeated: true, isOut: true, want: claims.Already},
		{name: "repeated and user", isRepeated: true, isUser: true, want: claims.Already},
		{name: "repeated, out, user and day", isRepeated: true, isOut: true, isUser: true, isDay: true, want: claims.Already},
		{name: "everything", isOther: true, isRepeated: true, isOut: true, isUser: true, isDay: true, want: claims.NotLoaded},
		{name: "other generation", isOther: true, want: claims.NotLoaded},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &bench{t: t, pool: b.pool}
			s := stock(10)
			s.Template += test.name
			s.PerPerson, s.PerDay = coupon.NoLimit, coupon.NoLimit
			if test.isUser {
				s.PerPerson = limits
			}
			if test.isDay {
				s.PerDay = limits
			}
			here := func(a claims.Ask) claims.Ask {
				a.Template = s.Template
				return a
			}
			b.load(s)
			if test.isUser || test.isDay {
				b.says(claims.Granted, false, here(onDay("before", "ann", "2026-03-01")))
			}
			asked := here(onDay("r", "ann", "2026-03-01"))
			if test.isRepeated {
				b.says(claims.Granted, false, here(ask("r", "")))
			}
			if test.isOut {
				s.Left = 0
				b.load(s)
			}
			want := claims.Taken{Verdict: test.want, Generation: 1, Held: test.isHeld}
			if test.isOther {
				asked = in(2, asked)
			}
			b.answers(want, asked)
		})
	}
}

func empty(t *testing.T, b *bench) {
	b.answers(claims.Taken{Verdict: claims.NotLoaded}, ask("r1", "ann"))
	b.giveBack(claims.Return{Ask: ask("r1", "ann")})
	if diff := cmp.Diff(claims.Level{}, b.level(campaign)); diff != "" {
		t.Errorf("level (-want +got):\n%s", diff)
	}
	if got := b.pool.Take(context.Background(), nil); len(got) != 0 {
		t.Errorf("no ask, %d answers", len(got))
	}
	b.giveBack()
	b.load(stock(0))
	b.says(claims.SoldOut, false, ask("r1", "ann"))
}

func handsOut(t *testing.T, b *bench) {
	s := stock(2)
	s.PerPerson, s.PerDay = 7, 5
	b.load(s)
	want := claims.Level{Loaded: true, Generation: 1, Left: 2, PerPerson: 7, PerDay: 5, Complete: true}
	if diff := cmp.Diff(want, b.level(campaign)); diff != "" {
		t.Errorf("level (-want +got):\n%s", diff)
	}
	b.says(claims.Granted, false, ask("r1", "ann"))
	b.left(1)
	b.says(claims.Granted, false, ask("r2", "bob"))
	b.left(0)
	b.says(claims.SoldOut, false, ask("r3", "cyd"))
	b.left(0)
	s.Left = -5
	b.load(s)
	b.left(0)
	b.says(claims.SoldOut, false, ask("r3", "cyd"))
}

func takesOnce(_ *testing.T, b *bench) {
	b.load(stock(10))
	b.says(claims.Granted, false, ask("r1", "ann"))
	b.says(claims.Already, false, ask("r1", "ann"))
	b.says(claims.Already, false, ask("r1", "bob"))
	b.left(9)
	// A refused request may be asked again.
	b.load(stock(0))
	b.says(claims.SoldOut, false, ask("r2", "bob"))
	b.load(stock(1))
	b.says(claims.Granted, false, ask("r2", "bob"))
	// It took its coupon in whatever generation.
	next := stock(5)
	next.Generation = 2
	b.load(next)
	b.says(claims.Already, false, in(2, ask("r1", "ann")))
	b.left(5)
}

func holds(_ *testing.T, b *bench) {
	b.load(stock(2))
	b.says(claims.Granted, false, ask("r1", "ann"))
	b.says(claims.Granted, false, ask("r2", ""))
	b.says(claims.SoldOut, true, ask("r3", "ann"))
	b.says(claims.SoldOut, false, ask("r4", "bob"))
	b.says(claims.SoldOut, false, ask("r5", ""))
	old := stock(0)
	old.Fresh = false
	b.load(old)
	b.says(claims.SoldOut, true, ask("r3", "ann"))
	b.says(claims.SoldOut, true, ask("r4", "bob"))
	b.says(claims.SoldOut, true, ask("r5", ""))
}

func limitsPersons(_ *testing.T, b *bench) {
	s := stock(10)
	s.PerPerson, s.PerDay = 2, 1
	b.load(s)
	b.says(claims.Granted, false, ask("r1", "ann"))
	b.says(claims.Granted, false, ask("r2", "ann"))
	b.says(claims.UserLimit, true, ask("r3", "ann"))
	b.says(claims.Granted, false, ask("r4", "Ann"))
	for i := range 4 {
		nobody := onDay(number("n", i), "", "2026-03-01")
		b.says(claims.Granted, false, nobody)
	}
	b.left(3)
	s.PerPerson = 0
	b.load(s)
	b.says(claims.UserLimit, true, ask("r5", "cyd"))
	b.says(claims.Granted, false, ask("r6", ""))
}

func limitsDays(_ *testing.T, b *bench) {
	s := stock(10)
	s.PerPerson, s.PerDay = 3, 1
	b.load(s)
	b.says(claims.Granted, false, onDay("r1", "ann", "2026-03-01"))
	b.says(claims.DayLimit, true, onDay("r2", "ann", "2026-03-01"))
	b.says(claims.Granted, false, onDay("r3", "bob", "2026-03-01"))
	b.says(claims.Granted, false, onDay("r2", "ann", "2026-03-02"))
	// A claim may come after its day, and is counted there.
	late := onDay("r4", "ann", "2026-02-28")
	late.DayEnds = time.Now().Add(-48 * time.Hour)
	b.says(claims.Granted, false, late)
	b.says(claims.UserLimit, true, onDay("r5", "ann", "2026-03-03"))
	late.Request, late.Person = "r6", "bob"
	b.says(claims.Granted, false, late)
	late.Request = "r7"
	b.says(claims.DayLimit, true, late)
	b.left(5)
}

func unlimited(_ *testing.T, b *bench) {
	b.load(stock(coupon.NoLimit))
	for i := range 20 {
		b.says(claims.Granted, false, onDay(number("r", i), "ann", "2026-03-01"))
	}
	b.left(coupon.NoLimit)
	b.giveBack(claims.Return{Ask: onDay("r1", "ann", "2026-03-01")})
	b.left(coupon.NoLimit)
	b.says(claims.Already, false, onDay("r2", "ann", "2026-03-01"))
	b.says(claims.Granted, false, onDay("r1", "ann", "2026-03-01"))
	// They were counted all the same, also when the books know a limit that the pool does not.
	b.giveBack(claims.Return{Ask: onDay("r2", "ann", "2026-03-01"), Why: claims.UserLimit})
	s := stock(0)
	b.load(s)
	b.says(claims.SoldOut, true, ask("r99", "ann"))
}

func loads(t *testing.T, b *bench) {
	s := stock(5)
	s.Generation, s.Until = 2, time.Now().Add(time.Hour)
	b.load(s)
	b.says(claims.Granted, false, in(2, ask("r1", "ann")))
	older := stock(100)
	b.load(older)
	b.answers(claims.Taken{Verdict: claims.NotLoaded, Generation: 2}, ask("r2", "bob"))
	b.left(4)
	// The same generation is set anew, and keeps whom it has counted.
	s.Left, s.PerPerson, s.PerDay = 9, 1, 3
	b.load(s)
	want := claims.Level{Loaded: true, Generation: 2, Left: 9, PerPerson: 1, PerDay: 3, Complete: true}
	if diff := cmp.Diff(want, b.level(campaign)); diff != "" {
		t.Errorf("level (-want +got):\n%s", diff)
	}
	b.says(claims.UserLimit, true, in(2, ask("r2", "ann")))
	s.Generation = 7
	b.load(s)
	b.answers(claims.Taken{Verdict: claims.NotLoaded, Generation: 7}, in(2, ask("r3", "bob")))
	b.says(claims.Granted, false, in(7, ask("r3", "bob")))
	b.left(8)
	// One whose campaign is over can still be asked for what is left.
	s.Generation, s.Until = 8, time.Now().Add(-1000*time.Hour)
	b.load(s)
	b.says(claims.Granted, false, in(8, ask("r4", "bob")))
}

func startsAnew(_ *testing.T, b *bench) {
	s := stock(5)
	s.PerPerson, s.PerDay = 2, 1
	b.load(s)
	b.says(claims.Granted, false, onDay("r1", "ann", "2026-03-01"))
	b.says(claims.DayLimit, true, onDay("r2", "ann", "2026-03-01"))
	s.Generation = 2
	b.load(s)
	b.says(claims.Granted, false, in(2, onDay("r2", "ann", "2026-03-01")))
	b.says(claims.Granted, false, in(2, onDay("r3", "ann", "2026-03-02")))
	b.says(claims.UserLimit, true, in(2, onDay("r4", "ann", "2026-03-03")))
}

func keepsApart(t *testing.T, b *bench) {
	other := stock(1)
	other.Template, other.PerPerson = "OTHER", 1
	s := stock(1)
	s.PerPerson = 1
	b.load(s)
	b.load(other)
	there := ask("r1", "ann")
	there.Template = other.Template
	b.says(claims.Granted, false, ask("r1", "ann"))
	b.says(claims.Granted, false, there)
	b.giveBack(claims.Return{Ask: there})
	b.left(0)
	if got := b.level(other.Template).Left; got != 1 {
		t.Errorf("%d are left of the other, want 1", got)
	}
	b.says(claims.Already, false, ask("r1", "ann"))
}

func longLists(t *testing.T, b *bench) {
	b.load(stock(1500))
	var asks []claims.Ask
	var want []claims.Taken
	for i := range 2500 {
		asks = append(asks, ask(number("r", i), ""), ask(number("r", i), ""))
		first, second := claims.Granted, claims.Already
		if i >= 1500 {
			first, second = claims.SoldOut, claims.SoldOut
		}
		want = append(want, claims.Taken{Verdict: first, Generation: 1}, claims.Taken{Verdict: second, Generation: 1})
	}
	if diff := cmp.Diff(want, b.pool.Take(context.Background(), asks)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	var returns []claims.Return
	for _, a := range asks {
		returns = append(returns, claims.Return{Ask: a, Why: claims.SoldOut})
	}
	b.giveBack(returns...)
	b.left(1500)
}

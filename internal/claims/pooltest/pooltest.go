// Package pooltest holds every pool of claims to the same behaviour, in memory and in
// Redis.
package pooltest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/claims"
	"couponlease/internal/coupon"
)

// Open gives a pool that knows no campaign and is not shared.
type Open func(t testing.TB) claims.Pool

// Run checks one kind of pool.
func Run(t *testing.T, open Open) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"says the first verdict that holds", verdicts},
		{"knows nothing before it is loaded", empty},
		{"hands out what is left", handsOut},
		{"takes a request once", takesOnce},
		{"tells who may have something when it is sold out", holds},
		{"limits persons, and nobody else", limitsPersons},
		{"limits each day for itself", limitsDays},
		{"has no limit where there is none", unlimited},
		{"gives back once", givesBackOnce},
		{"gives back what its asker took", givesBackOwn},
		{"gives back nothing of another generation", givesBackNothing},
		{"believes the books about limits", believes},
		{"loads unless it has a later generation", loads},
		{"starts a generation with nobody counted", startsAnew},
		{"is told who has something", recalls},
		{"knows nobody in another generation", forgets},
		{"gives back what nobody else has met", alone},
		{"keeps campaigns apart", keepsApart},
		{"answers long lists in their order", longLists},
		{"hands out exactly what is left to many at once", races},
		{"gives back once to many at once", racesBack},
		{"does as the model does", property},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, &bench{t: t, pool: open(t)}) })
	}
}

// campaign is the one of most tests, at its first generation.
const campaign = "SPRING 10 %{}:é"

// bench asks a pool and compares what it says.
type bench struct {
	t    *testing.T
	pool claims.Pool
}

// stock is a first generation of the campaign without limits of persons.
func stock(left int64) claims.Stock {
	return claims.Stock{
		Template: campaign, Generation: 1, Left: left, PerPerson: coupon.NoLimit, PerDay: coupon.NoLimit, Fresh: true,
	}
}

// ask is one in the first generation, of nobody when the person is "".
func ask(request, person string) claims.Ask {
	return claims.Ask{Template: campaign, Request: request, Generation: 1, Person: person}
}

// onDay is an ask where days are limited.
func onDay(request, person, day string) claims.Ask {
	a := ask(request, person)
	a.Day, a.DayEnds = day, time.Now().Add(time.Hour)
	return a
}

// in is the ask in another generation.
func in(generation int64, a claims.Ask) claims.Ask {
	a.Generation = generation
	return a
}

func (b *bench) load(s claims.Stock) {
	b.t.Helper()
	if err := b.pool.Load(context.Background(), s); err != nil {
		b.t.Fatal(err)
	}
}

// says wants an answer to one ask, of a pool at the generation of the ask.
func (b *bench) says(want claims.Verdict, isHeld bool, a claims.Ask) {
	b.t.Helper()
	b.answers(claims.Taken{Verdict: want, Generation: a.Generation, Held: isHeld}, a)
}

func (b *bench) answers(want claims.Taken, a claims.Ask) {
	b.t.Helper()
	if diff := cmp.Diff([]claims.Taken{want}, b.pool.Take(context.Background(), []claims.Ask{a})); diff != "" {
		b.t.Errorf("%s for %q (-want +got):\n%s", a.Request, a.Person, diff)
	}
}

func (b *bench) giveBack(returns ...claims.Return) {
	b.t.Helper()
	if err := b.pool.GiveBack(context.Background(), returns); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) level(template string) claims.Level {
	b.t.Helper()
	level, err := b.pool.Level(context.Background(), template)
	if err != nil {
		b.t.Fatal(err)
	}
	return level
}

// left wants so many to be left of the campaign.
func (b *bench) left(want int64) {
	b.t.Helper()
	if got := b.level(campaign).Left; got != want {
		b.t.Errorf("%d are left, want %d", got, want)
	}
}

// number names one of many requests or persons.
func number(kind string, i int) string { return fmt.Sprintf("%s%d", kind, i) }

package pooltest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"couponlease/internal/claims"
	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
)

// property holds the pool against the one in memory through any sequence of calls, and
// both against what may never happen.
func property(t *testing.T, b *bench) {
	round := 0
	ends := time.Now().Add(time.Hour)
	rapid.Check(t, func(t *rapid.T) {
		round++ // the pool knows nothing of the campaigns of a round
		d := &dealer{t: t, pool: b.pool, model: simulate.NewPool(), ends: ends, campaign: number("round", round)}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			d.step()
		}
	})
}

// dealer draws calls.
type dealer struct {
	t        *rapid.T
	pool     claims.Pool
	model    claims.Pool
	ends     time.Time
	campaign string

	// Since the stock was loaded: how many there were, and how many more went out than came back.
	loaded, out int64
}

func (d *dealer) ask() claims.Ask {
	a := claims.Ask{
		Template: d.campaign, Request: number("r", rapid.IntRange(0, 8).Draw(d.t, "request")),
		Generation: rapid.SampledFrom([]int64{1, 1, 1, 2, 3}).Draw(d.t, "generation"),
		Person:     rapid.SampledFrom([]string{"", "ann", "bob", "cyd"}).Draw(d.t, "person"),
		Day:        rapid.SampledFrom([]string{"", "2026-03-01", "2026-03-02"}).Draw(d.t, "day"),
	}
	if a.Day != "" {
		a.DayEnds = d.ends
	}
	return a
}

func (d *dealer) step() {
	ctx := context.Background()
	switch rapid.SampledFrom([]string{"take", "take", "take", "give back", "load", "recall"}).Draw(d.t, "step") {
	case "take":
		var asks []claims.Ask
		for range rapid.IntRange(1, 6).Draw(d.t, "asks") {
			asks = append(asks, d.ask())
		}
		got := d.pool.Take(ctx, asks)
		if diff := cmp.Diff(d.model.Take(ctx, asks), got); diff != "" {
			d.t.Fatalf("take %+v (-model +pool):\n%s", asks, diff)
		}
		for _, taken := range got {
			if taken.Verdict == claims.Granted {
				d.out++
			}
		}
	case "give back":
		why := rapid.SampledFrom([]claims.Verdict{"", claims.SoldOut, claims.UserLimit, claims.DayLimit})
		returns := []claims.Return{
			{Ask: d.ask(), Why: why.Draw(d.t, "why"), Alone: rapid.Bool().Draw(d.t, "alone")}, {Ask: d.ask(), Why: why.Draw(d.t, "why")},
		}
		before := d.level().Left
		for _, pool := range []claims.Pool{d.model, d.pool} {
			if err := pool.GiveBack(ctx, returns); err != nil {
				d.t.Fatal(err)
			}
		}
		d.out -= d.level().Left - before
	case "load":
		d.load()
	case "recall":
		generation, last := rapid.Int64Range(1, 3).Draw(d.t, "told generation"), rapid.Bool().Draw(d.t, "last")
		person := rapid.SampledFrom([]string{"ann", "bob", "cyd"}).Draw(d.t, "told of")
		for _, pool := range []claims.Pool{d.model, d.pool} {
			if err := pool.Recall(ctx, d.campaign, generation, []string{person}, last); err != nil {
				d.t.Fatal(err)
			}
		}
	}
	level := d.level()
	if level.Loaded && level.Left != coupon.NoLimit && (level.Left < 0 || level.Left+d.out != d.loaded) {
		d.t.Fatalf("%d were loaded, %d are out and %d are left", d.loaded, d.out, level.Left)
	}
}

func (d *dealer) load() {
	few := rapid.SampledFrom([]int64{coupon.NoLimit, 0, 1, 2, 3})
	s := claims.Stock{
		Template: d.campaign, Generation: rapid.Int64Range(1, 3).Draw(d.t, "generation"), Left: few.Draw(d.t, "left"),
		PerPerson: few.Draw(d.t, "per person"), PerDay: few.Draw(d.t, "per day"), Fresh: rapid.Bool().Draw(d.t, "fresh"),
	}
	isOlder := d.level().Generation > s.Generation
	for _, pool := range []claims.Pool{d.model, d.pool} {
		if err := pool.Load(context.Background(), s); err != nil {
			d.t.Fatal(err)
		}
	}
	if !isOlder {
		d.loaded, d.out = s.Left, 0
	}
}

// level is what both hold.
func (d *dealer) level() claims.Level {
	want, err := d.model.Level(context.Background(), d.campaign)
	if err != nil {
		d.t.Fatal(err)
	}
	got, err := d.pool.Level(context.Background(), d.campaign)
	if err != nil {
		d.t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Fatalf("level (-model +pool):\n%s", diff)
	}
	return got
}

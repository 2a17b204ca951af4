package pooltest

import (
	"fmt"
	"testing"

	"couponlease/internal/claims"
)

// recall tells the pool who has got something.
func (b *bench) recall(generation int64, last bool, persons ...string) {
	b.t.Helper()
	if err := b.pool.Recall(b.t.Context(), campaign, generation, persons, last); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) complete(want bool) {
	b.t.Helper()
	if level := b.level(campaign); level.Complete != want {
		b.t.Errorf("the pool has %+v, want it to know everybody: %t", level, want)
	}
}

// recalls: a stock that was loaded in the middle knows nobody until it was told of all.
func recalls(_ *testing.T, b *bench) {
	s := stock(0)
	s.Fresh = false
	b.load(s)
	b.complete(false)
	b.says(claims.SoldOut, true, ask("r1", "bob"))
	b.recall(1, false, "ann")
	b.says(claims.SoldOut, true, ask("r1", "bob"))
	many := make([]string, 2500)
	for i := range many {
		many[i] = fmt.Sprint("person ", i)
	}
	b.recall(2, true, many...) // another generation
	b.complete(false)
	b.recall(1, true, many...)
	b.complete(true)
	b.says(claims.SoldOut, false, ask("r1", "bob"))
	b.says(claims.SoldOut, true, ask("r1", "ann"))
	b.says(claims.SoldOut, true, ask("r1", many[0]))
	b.says(claims.SoldOut, true, ask("r1", many[len(many)-1]))
	b.says(claims.SoldOut, true, ask("r1", "")) // of whom nobody knows anything
	b.recall(1, true)
	b.complete(true)
}

// forgets: another generation knows nobody either.
func forgets(_ *testing.T, b *bench) {
	s := stock(1)
	b.load(s)
	b.says(claims.Granted, false, ask("r1", "ann"))
	s.Generation, s.Left, s.Fresh = 2, 0, false
	b.load(s)
	b.complete(false)
	b.says(claims.SoldOut, true, in(2, ask("r2", "cyd")))
	b.recall(2, true, "ann")
	b.says(claims.SoldOut, false, in(2, ask("r2", "cyd")))
	b.says(claims.SoldOut, true, in(2, ask("r2", "ann")))
	b.load(s) // the same once more knows whom it was told, and not whether these are all
	b.complete(false)
	b.recall(2, true)
	b.says(claims.SoldOut, true, in(2, ask("r2", "ann")))
}

// alone: what another message of the request has met is that one's.
func alone(_ *testing.T, b *bench) {
	b.load(stock(5))
	b.says(claims.Granted, false, ask("r1", "ann"))
	b.says(claims.Granted, false, ask("r2", "bob"))
	b.says(claims.Already, false, ask("r1", "ann"))
	b.giveBack(claims.Return{Ask: ask("r1", "ann"), Alone: true}, claims.Return{Ask: ask("r2", "bob"), Alone: true})
	b.left(4)
	b.says(claims.Already, false, ask("r1", "ann"))
	b.giveBack(claims.Return{Ask: ask("r1", "ann")})
	b.left(5)
	b.says(claims.Granted, false, ask("r1", "ann"))
	b.giveBack(claims.Return{Ask: ask("r1", "ann"), Alone: true})
	b.left(5)
}

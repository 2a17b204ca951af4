package coupon_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
)

// night is the step of a run in which a day passes; every other step is a claim, such as
// "b2": person b under its second key.
const night = "night"

// runs gives every sequence of so many steps of three persons with two keys each and of
// nights, but for those that only swap names: persons and keys appear in order.
func runs(steps int) (all [][]string) {
	persons := []string{"a", "b", "c"}
	var extend func(run []string, known int, keys map[string]int)
	extend = func(run []string, known int, keys map[string]int) {
		if len(run) == steps {
			all = append(all, slices.Clone(run))
			return
		}
		if len(run) > 0 && len(run) < steps-1 && run[len(run)-1] != night {
			extend(append(run, night), known, keys)
		}
		for i, person := range persons[:min(known+1, len(persons))] {
			for key := range min(keys[person]+1, 2) {
				more := maps.Clone(keys)
				more[person] = max(more[person], key+1)
				extend(append(run, fmt.Sprint(person, key+1)), max(known, i+1), more)
			}
		}
	}
	extend(nil, 0, map[string]int{})
	return all
}

// batchings gives every way to cut a run into transactions; a night cuts.
func batchings(run []string) (all [][][]string) {
	for cuts := range 1 << (len(run) - 1) {
		var batches [][]string
		for i, step := range run {
			last := len(batches) - 1
			if i == 0 || cuts>>(i-1)&1 == 1 {
				batches, last = append(batches, nil), last+1
			}
			batches[last] = append(batches[last], step)
		}
		if !slices.ContainsFunc(batches, func(b []string) bool { return len(b) > 1 && slices.Contains(b, night) }) {
			all = append(all, batches)
		}
	}
	return all
}

// ration is the plainest judge of claims: it counts on its fingers.
type ration struct {
	total, perPerson, perDay int
	issued                   int
	ever, today              map[string]int
	told                     map[string]string
}

func (r *ration) claim(step string) string {
	if told, again := r.told[step]; again {
		return "again " + told
	}
	person := step[:1]
	switch {
	case r.issued == r.total:
		r.told[step] = string(coupon.QuotaExhausted)
	case r.ever[person] == r.perPerson:
		r.told[step] = string(coupon.LimitReached)
	case r.today[person] == r.perDay:
		r.told[step] = string(coupon.DailyLimitReached)
	default:
		r.issued, r.ever[person], r.today[person] = r.issued+1, r.ever[person]+1, r.today[person]+1
		r.told[step] = fmt.Sprintf("OK t-%d", r.issued)
	}
	return r.told[step]
}

// TestClaimsInEveryOrder: three persons who ask again and again, under limits from 1 to 3,
// in every order and however their claims are batched, get what counting gives them: never
// more than the total, or than a person or a day may; a key is answered once; and the
// counters are right after each transaction.
func TestClaimsInEveryOrder(t *testing.T) {
	t.Parallel()
	const steps = 5
	played := 0
	for _, run := range runs(steps) {
		for limits := range 27 {
			r := ration{total: limits/9 + 1, perPerson: limits/3%3 + 1, perDay: limits%3 + 1}
			var want []string
			r.ever, r.today, r.told = map[string]int{}, map[string]int{}, map[string]string{}
			for _, step := range run {
				if step == night {
					r.today = map[string]int{}
					continue
				}
				want = append(want, r.claim(step))
			}
			for _, batches := range batchings(run) {
				played++
				if got := playClaims(t, batches, r); !slices.Equal(got, want) {
					t.Fatalf("%v of %d, %d per person, %d per day:\nanswered %q\nwant     %q",
						batches, r.total, r.perPerson, r.perDay, got, want)
				}
			}
		}
	}
	if played != 117_801 {
		t.Errorf("%d runs were played", played)
	}
}

// playClaims gives the answers to the claims of one run.
func playClaims(t *testing.T, batches [][]string, limits ration) (told []string) {
	t.Helper()
	now := noon
	ledger := simulate.NewLedger(func() time.Time { return now }, coupon.DefaultRules(), simulate.NewSource("s"))
	terms := coupon.Unlimited()
	terms.Total, terms.PerPerson, terms.PerDay = int64(limits.total), int64(limits.perPerson), int64(limits.perDay)
	requests := []coupon.Request{{Fact: coupon.DefineTemplate{Template: coupon.Template{ID: "t", Terms: terms}}}}
	decide := func(w *coupon.World) {
		for i := range requests {
			outcome := coupon.Decide(w, &requests[i])
			if a := outcome.Answer; a != nil {
				text := strings.TrimSpace(fmt.Sprint(a.Code, " ", a.Coupon))
				if outcome.Status == coupon.Repeated {
					text = "again " + text
				}
				told = append(told, text)
			}
		}
		w.Seal()
	}
	apply := func() {
		if err := ledger.Apply(t.Context(), requests, decide); err != nil {
			t.Fatalf("%v: %v", batches, err)
		}
		if broken, err := ledger.Violations(t.Context()); err != nil || len(broken) > 0 {
			t.Fatalf("%v: %v %v", batches, broken, err)
		}
	}
	apply()
	for _, batch := range batches {
		if batch[0] == night {
			now = now.Add(24 * time.Hour)
			continue
		}
		requests = requests[:0]
		for _, step := range batch {
			requests = append(requests, coupon.Request{
				ID: "m" + step, Key: step, At: now, Fact: coupon.ClaimCoupon{Template: "t", Person: step[:1]},
			})
		}
		apply()
	}
	return told
}

package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"couponlease/internal/coupon"
)

// assertion checks one part of right.assert; it says what is wrong, or "".
type assertion func(r *run, rows map[string]coupon.History, want json.RawMessage) (string, error)

// assertions is every part of right.assert that is understood.
func assertions() map[string]assertion {
	return map[string]assertion{
		"states":      perCoupon(func(h coupon.History) string { return string(h.Coupon.State) }),
		"statesIn":    assertStatesIn,
		"versions":    perCoupon(func(h coupon.History) int64 { return h.Coupon.Version }),
		"orders":      assertOrders,
		"red":         perCoupon(activeRedemptions),
		"redMax":      assertRedMax,
		"redTotal":    assertRedTotal,
		"ledger":      assertLedger,
		"out":         assertOut,
		"notOut":      assertNotOut,
		"review":      assertReview,
		"reviewCount": assertReviewCount,
		"nRejected":   assertRejected,
		"results":     assertResults,
		"nResults":    assertResultCounts,
		"decision":    assertDecision,
		"count":       assertCount,
		"nCoupons":    assertCoupons,
		"quota":       assertQuota,
		"reportHas":   assertReportHas,
	}
}

// assert checks all of right.assert and says what is wrong first; "" when all
// holds.
func (r *run) assert(ctx context.Context) (string, error) {
	rows := map[string]coupon.History{}
	for _, id := range r.coupons {
		history, _, err := r.backend.History(ctx, id)
		if err != nil {
			return "", err
		}
		rows[id] = history
	}
	if err := r.readQuotas(ctx); err != nil {
		return "", err
	}
	known := assertions()
	for _, name := range sortedKeys(r.c.Right.Assert) {
		check, ok := known[name]
		if !ok {
			return "", unsupportedError{"assert " + name}
		}
		wrong, err := check(r, rows, r.c.Right.Assert[name])
		if err != nil {
			return "", fmt.Errorf("assert %s: %w", name, err)
		}
		if wrong != "" {
			return name + ": " + wrong, nil
		}
	}
	return "", nil
}

// perCoupon compares one value of each coupon named.
func perCoupon[V comparable](value func(coupon.History) V) assertion {
	return func(r *run, rows map[string]coupon.History, want json.RawMessage) (string, error) {
		var wanted map[string]V
		if err := json.Unmarshal(want, &wanted); err != nil {
			return "", err
		}
		for _, id := range sortedKeys(wanted) {
			history, known := rows[r.coupon(id)]
			if !known {
				return fmt.Sprintf("%s: expected %v, got no such coupon", id, wanted[id]), nil
			}
			if got := value(history); got != wanted[id] {
				return fmt.Sprintf("%s: expected %v, got %v", id, wanted[id], got), nil
			}
		}
		return "", nil
	}
}

// activeRedemptions counts, on the ledger, the redemptions that nothing ended.
func activeRedemptions(h coupon.History) int {
	folded, _ := coupon.Replay(h.Operations)
	return folded.Active
}

func assertStatesIn(r *run, rows map[string]coupon.History, want json.RawMessage) (string, error) {
	var wanted map[string][]string
	if err := json.Unmarshal(want, &wanted); err != nil {
		return "", err
	}
	for _, id := range sortedKeys(wanted) {
		got := "no such coupon"
		if row := rows[r.coupon(id)].Coupon; row != nil {
			got = string(row.State)
		}
		if !slices.Contains(wanted[id], got) {
			return fmt.Sprintf("%s: expected one of %v, got %s", id, wanted[id], got), nil
		}
	}
	return "", nil
}

func assertOrders(r *run, rows map[string]coupon.History, want json.RawMessage) (string, error) {
	var wanted map[string]*string
	if err := json.Unmarshal(want, &wanted); err != nil {
		return "", err
	}
	for _, id := range sortedKeys(wanted) {
		got, expected := "", ""
		if row := rows[r.coupon(id)].Coupon; row != nil && row.Lease != nil {
			got = row.Lease.Order
		} else if row != nil && row.Redemption != nil {
			got = row.Redemption.Order
		}
		if wanted[id] != nil {
			expected = *wanted[id]
		}
		if got != r.name(expected) && !r.parts(expected, got) {
			return fmt.Sprintf("%s: expected order %q, got %q", id, expected, strings.TrimPrefix(got, r.space)), nil
		}
	}
	return "", nil
}

// parts says whether an order of the case is a part of the order that holds a
// coupon: what is held for the whole is held for its parts.
func (r *run) parts(order, holder string) bool {
	return slices.ContainsFunc(r.c.Sequence, func(step Step) bool {
		return order != "" && step.Order == order && step.Parent != "" && r.name(step.Parent) == holder
	})
}

func assertRedMax(r *run, rows map[string]coupon.History, want json.RawMessage) (string, error) {
	var wanted map[string]int
	if err := json.Unmarshal(want, &wanted); err != nil {
		return "", err
	}
	for _, id := range sortedKeys(wanted) {
		if got := activeRedemptions(rows[r.coupon(id)]); got > wanted[id] {
			return fmt.Sprintf("%s: expected at most %d, got %d", id, wanted[id], got), nil
		}
	}
	return "", nil
}

func assertRedTotal(_ *run, rows map[string]coupon.History, want json.RawMessage) (string, error) {
	var total int
	for _, history := range rows {
		total += activeRedemptions(history)
	}
	return equal(want, total)
}

func assertLedger(r *run, rows map[string]coupon.History, want json.RawMessage) (string, error) {
	var wanted map[string][]string
	if err := json.Unmarshal(want, &wanted); err != nil {
		return "", err
	}
	for _, id := range sortedKeys(wanted) {
		var got []string
		for _, op := range rows[r.coupon(id)].Operations {
			name := string(op.Operation)
			if op.Operation == coupon.Withdraw && op.FromState == coupon.Used {
				name = string(coupon.Return)
			}
			got = append(got, name)
		}
		if !slices.Equal(got, wanted[id]) {
			return fmt.Sprintf("%s: expected %v, got %v", id, wanted[id], got), nil
		}
	}
	return "", nil
}

func (r *run) sent() map[string]bool {
	kinds := map[string]bool{}
	for i := range r.events {
		kinds[string(r.events[i].Kind)] = true
	}
	return kinds
}

func assertOut(r *run, _ map[string]coupon.History, want json.RawMessage) (string, error) {
	return r.assertSent(want, true)
}

func assertNotOut(r *run, _ map[string]coupon.History, want json.RawMessage) (string, error) {
	return r.assertSent(want, false)
}

func (r *run) assertSent(want json.RawMessage, expected bool) (string, error) {
	var wanted []string
	if err := json.Unmarshal(want, &wanted); err != nil {
		return "", err
	}
	sent := r.sent()
	for _, kind := range wanted {
		if sent[kind] != expected {
			return fmt.Sprintf("%s: expected sent %t, sent were %v", kind, expected, sortedKeys(sent)), nil
		}
	}
	return "", nil
}

func assertReview(r *run, _ map[string]coupon.History, want json.RawMessage) (string, error) {
	var wanted []string
	if err := json.Unmarshal(want, &wanted); err != nil {
		return "", err
	}
	reasons := map[string]bool{}
	for i := range r.reviews {
		reasons[string(r.reviews[i].Reason)] = true
	}
	slices.Sort(wanted)
	if got := slices.Sorted(maps.Keys(reasons)); !slices.Equal(got, slices.Compact(wanted)) {
		return fmt.Sprintf("expected %v, got %v", wanted, got), nil
	}
	return "", nil
}

func assertReviewCount(r *run, _ map[string]coupon.History, want json.RawMessage) (string, error) {
	return equal(want, len(r.reviews))
}

func assertRejected(r *run, _ map[string]coupon.History, want json.RawMessage) (string, error) {
	var rejected int
	for _, result := range r.results {
		if strings.HasPrefix(result, "REJECTED") {
			rejected++
		}
	}
	return equal(want, rejected)
}

func assertResults(r *run, _ map[string]coupon.History, want json.RawMessage) (string, error) {
	var wanted map[string]string
	if err := json.Unmarshal(want, &wanted); err != nil {
		return "", err
	}
	for _, key := range sortedKeys(wanted) {
		index, err := strconv.Atoi(key)
		if err != nil || index < 0 || index >= len(r.results) {
			return "", fmt.Errorf("step %q does not exist", key)
		}
		if r.results[index] != wanted[key] {
			return fmt.Sprintf("step %d: expected %s, got %s", index, wanted[key], r.results[index]), nil
		}
	}
	return "", nil
}

func assertResultCounts(r *run, _ map[string]coupon.History, want json.RawMessage) (string, error) {
	var wanted map[string]int
	if err := json.Unmarshal(want, &wanted); err != nil {
		return "", err
	}
	counts := map[string]int{}
	for _, result := range r.results {
		counts[result]++
	}
	for _, result := range sortedKeys(wanted) {
		if counts[result] != wanted[result] {
			return fmt.Sprintf("%s: expected %d times, got %v", result, wanted[result], counts), nil
		}
	}
	return "", nil
}

func assertDecision(r *run, _ map[string]coupon.History, want json.RawMessage) (string, error) {
	var wanted, got []string
	if err := json.Unmarshal(want, &wanted); err != nil {
		var single string
		if json.Unmarshal(want, &single) != nil {
			return "", err
		}
		wanted = []string{single}
	}
	for i := range r.decided {
		got = append(got, r.decided[i].Decision)
	}
	if !slices.Equal(got, wanted) {
		return fmt.Sprintf("expected %v, got %v", wanted, got), nil
	}
	return "", nil
}

func assertCount(_ *run, rows map[string]coupon.History, want json.RawMessage) (string, error) {
	var wanted map[string]int
	if err := json.Unmarshal(want, &wanted); err != nil {
		return "", err
	}
	counts := map[string]int{}
	for _, history := range rows {
		counts[string(history.Coupon.State)]++
	}
	for _, state := range sortedKeys(wanted) {
		if counts[state] != wanted[state] {
			return fmt.Sprintf("%s: expected %d, got %v", state, wanted[state], counts), nil
		}
	}
	return "", nil
}

func assertCoupons(r *run, _ map[string]coupon.History, want json.RawMessage) (string, error) {
	return equal(want, len(r.coupons))
}

func equal(want json.RawMessage, got int) (string, error) {
	var wanted int
	if err := json.Unmarshal(want, &wanted); err != nil {
		return "", err
	}
	if got != wanted {
		return fmt.Sprintf("expected %d, got %d", wanted, got), nil
	}
	return "", nil
}

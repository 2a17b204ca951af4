package coupon_test

import (
	"errors"
	"testing"

	"couponlease/internal/coupon"
)

// revived gives a voided history with the reversal of the withdrawal behind it.
func revived(t *testing.T, story string, to coupon.State, change func(h *coupon.History, row *coupon.OperationRow)) coupon.History {
	t.Helper()
	h := played(t, story)
	void := h.Operations[len(h.Operations)-1]
	row := coupon.OperationRow{
		ID: "reversal", Coupon: "c1", Operation: coupon.Reverse, From: void.To, To: void.To + 1,
		FromState: coupon.Void, ToState: to, Original: void.ID, ValidUntil: void.ValidUntil,
	}
	change(&h, &row)
	h.Operations = append(h.Operations, row)
	h.Coupon.State, h.Coupon.Version = to, row.To
	return h
}

const (
	voidedFreeStory   = "0 void c1"
	voidedLeasedStory = "0 placed A c1\n5 void c1 force"
)

// TestReversalOfWithdrawal: a withdrawn coupon becomes again what it was; only a
// lease does not come back.
func TestReversalOfWithdrawal(t *testing.T) {
	use := func(h *coupon.History, _ *coupon.OperationRow) {
		redemption := h.Redemptions[0].Redemption
		h.Coupon.Redemption = &redemption
	}
	nothing := func(*coupon.History, *coupon.OperationRow) {}
	other := func(_ *coupon.History, row *coupon.OperationRow) { row.Original = "other" }
	for _, c := range []struct {
		name, story string
		to          coupon.State
		change      func(*coupon.History, *coupon.OperationRow)
		invariant   int
	}{
		{"free again", voidedFreeStory, coupon.Available, nothing, 0},
		{"free again, validity over", voidedFreeStory, coupon.Expired, nothing, 0},
		{"no longer leased", voidedLeasedStory, coupon.Available, nothing, 0},
		{"used again", voidedStory, coupon.Used, use, 0},
		{"used, but it never was", voidedFreeStory, coupon.Used, nothing, 7},
		{"free, but it was used", voidedStory, coupon.Available, nothing, 7},
		{"another operation is reversed", voidedFreeStory, coupon.Available, other, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			history := revived(t, c.story, c.to, c.change)
			if c.name == "used, but it never was" {
				history.Coupon.Redemption = &coupon.Redemption{ID: "r"}
			}
			broken := coupon.Check(history)
			switch {
			case c.invariant == 0 && len(broken) > 0:
				t.Errorf("got %v", broken)
			case c.invariant != 0 && (len(broken) != 1 || broken[0].Invariant != c.invariant):
				t.Errorf("want invariant %d, got %v", c.invariant, broken)
			}
		})
	}
}

// TestUsedAgainEndsOnce: a redemption that was withdrawn and revived is still one
// redemption, and ends once more at most.
func TestUsedAgainEndsOnce(t *testing.T) {
	history := revived(t, voidedStory, coupon.Used, func(*coupon.History, *coupon.OperationRow) {})
	folded, err := coupon.Replay(history.Operations)
	if err != nil || folded.Active != 1 || folded.Order != "A" {
		t.Fatalf("got %+v, %v", folded, err)
	}
	end := history.Operations[3]
	for range 2 {
		end.From, end.To, end.Operation, end.ToState = folded.Version, folded.Version+1, coupon.Return, coupon.Available
		history.Operations = append(history.Operations, end)
		if folded, err = coupon.Replay(history.Operations); err != nil {
			break
		}
	}
	if broken := (*coupon.LedgerError)(nil); !errors.As(err, &broken) || broken.Version != 7 {
		t.Errorf("a second end: got %v", err)
	}
}

package policy_test

import (
	"strings"
	"testing"

	"couponlease/internal/policy"
)

// TestDecide: a chargeback is judged first, then a surplus, then full against
// partial over all refunds.
func TestDecide(t *testing.T) {
	rules := policy.Policy{Full: policy.Return, Partial: policy.Review, Chargeback: policy.Retire}
	for _, c := range []struct {
		name                    string
		payable, paid, refunded int64
		reason, want            string
	}{
		{"all of it", 100, 100, 100, "customer", "RETURN:FULL"},
		{"more than all of it", 100, 100, 101, "customer", "RETURN:FULL"},
		{"a part", 100, 100, 99, "customer", "REVIEW:PARTIAL"},
		{"all that was paid of more", 100, 60, 60, "customer", "RETURN:FULL"},
		{"a surplus", 100, 200, 100, "customer", "KEEP:OVERPAYMENT"},
		{"a part of a surplus", 100, 200, 1, "customer", "KEEP:OVERPAYMENT"},
		{"a surplus and a part", 100, 200, 101, "customer", "REVIEW:PARTIAL"},
		{"a surplus and all", 100, 200, 200, "customer", "RETURN:FULL"},
		{"nothing was to pay", 0, 0, 1, "customer", "RETURN:FULL"},
		{"a chargeback of all", 100, 100, 100, "chargeback", "RETIRE:CHARGEBACK"},
		{"a chargeback of a surplus", 100, 200, 100, "chargeback", "RETIRE:CHARGEBACK"},
		{"no reason", 100, 100, 100, "", "RETURN:FULL"},
	} {
		got := rules.Decide(policy.Facts{Payable: c.payable, Paid: c.paid, Refunded: c.refunded, Reason: c.reason})
		if got.String() != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestDefault: a full refund returns, everything else keeps.
func TestDefault(t *testing.T) {
	rules := policy.Default()
	if err := rules.Validate(); err != nil || rules.Version != policy.DefaultVersion {
		t.Errorf("%+v: %v", rules, err)
	}
	for refunded, want := range map[int64]string{100: "RETURN:FULL", 50: "KEEP:PARTIAL"} {
		if got := rules.Decide(policy.Facts{Payable: 100, Paid: 100, Refunded: refunded}); got.String() != want {
			t.Errorf("%d of 100: got %s, want %s", refunded, got, want)
		}
	}
	facts := policy.Facts{Payable: 100, Paid: 100, Refunded: 100, Reason: policy.ReasonChargeback}
	if got := rules.Decide(facts); got.String() != "KEEP:CHARGEBACK" {
		t.Errorf("chargeback: got %s", got)
	}
}

// TestEnds: what a decision does to the use of the coupon.
func TestEnds(t *testing.T) {
	for decision, want := range map[policy.Decision]bool{
		policy.Return: true, policy.Retire: true, policy.Void: true, policy.Keep: false, policy.Review: false,
	} {
		if decision.Ends() != want {
			t.Errorf("%s ends the use: %t", decision, !want)
		}
	}
}

// TestValidate: a policy that cannot be carried out is refused, with its name.
func TestValidate(t *testing.T) {
	for name, spoil := range map[string]func(*policy.Policy){
		"full":       func(p *policy.Policy) { p.Full = "SHRED" },
		"partial":    func(p *policy.Policy) { p.Partial = "" },
		"chargeback": func(p *policy.Policy) { p.Chargeback = "return" },
		"extendDays": func(p *policy.Policy) { p.ExtendDays = -1 },
		"3651":       func(p *policy.Policy) { p.ExtendDays = 3651 },
	} {
		rules := policy.Default()
		spoil(&rules)
		if err := rules.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestParseExpired: EXPIRE, or EXTEND with days.
func TestParseExpired(t *testing.T) {
	for text, want := range map[string]int{"": 0, "EXPIRE": 0, "EXTEND:1": 1, "EXTEND:3650": 3650} {
		if got, err := policy.ParseExpired(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"EXTEND", "EXTEND:", "EXTEND:0", "EXTEND:-1", "EXTEND:3651", "EXTEND:7d", "KEEP"} {
		if got, err := policy.ParseExpired(text); err == nil {
			t.Errorf("%q: got %d", text, got)
		}
	}
}

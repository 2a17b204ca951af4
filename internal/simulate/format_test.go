package simulate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// runText runs one case that is written as it would be in a file.
func runText(t *testing.T, text string) Report {
	t.Helper()
	cases, err := ReadCases(strings.NewReader(text))
	if err != nil || len(cases) != 1 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	return RunCase(t.Context(), &cases[0], onMemory)
}

// story is a case that ends with c1 USED by A, c2 free, B refused and in review,
// and a partial refund decided.
const story = `{"id":"X","setup":{"coupons":{"c1":{},"c2":{}}},"sequence":[
	{"t":0,"do":"OrderPlaced","order":"A","customer":"u1","coupons":["c1"]},
	{"t":1,"do":"OrderPlaced","order":"B","customer":"u1","coupons":["c1"]},
	{"t":2,"do":"PaymentSucceeded","order":"A"},
	{"t":3,"do":"PaymentSucceeded","order":"B"},
	{"t":4,"do":"RefundApproved","order":"A","amount":40},
	{"t":5,"do":"Reconcile"}],
	"right":{"assert":{%s}}}`

// TestEachAssertion: each kind of assertion holds when it is right, and says
// what is wrong when it is not.
func TestEachAssertion(t *testing.T) {
	for _, c := range []struct{ name, right, wrong, detail string }{
		{"states", `{"c1":"USED"}`, `{"c1":"LOCKED"}`, "c1: expected LOCKED, got USED"},
		{"states", `{"c2":"AVAILABLE"}`, `{"c9":"USED"}`, "c9: expected USED, got no such coupon"},
		{"statesIn", `{"c1":["USED","VOID"]}`, `{"c1":["VOID"]}`, "c1: expected one of [VOID], got USED"},
		{"statesIn", `{}`, `{"c9":["VOID"]}`, "c9: expected one of [VOID], got no such coupon"},
		{"versions", `{"c1":3,"c2":1}`, `{"c1":4}`, "c1: expected 4, got 3"},
		{"orders", `{"c1":"A","c2":null}`, `{"c1":"B"}`, `c1: expected order "B", got "A"`},
		{"orders", `{}`, `{"c2":"A"}`, `c2: expected order "A", got ""`},
		{"red", `{"c1":1,"c2":0}`, `{"c1":0}`, "c1: expected 0, got 1"},
		{"redMax", `{"c1":1}`, `{"c1":0}`, "c1: expected at most 0, got 1"},
		{"redTotal", `1`, `2`, "expected 2, got 1"},
		{"reportHas", `["REPORT:CLEAN"]`, `"ORPHAN_PAYMENT"`, "expected ORPHAN_PAYMENT in a report, got [REPORT:CLEAN]"},
		{"ledger", `{"c1":["ISSUE","LOCK","REDEEM"]}`, `{"c1":["ISSUE"]}`, "c1: expected [ISSUE], got [ISSUE LOCK REDEEM]"},
		{"out", `["CouponLockRejected","ReviewOpened"]`, `["CouponReturned"]`, "CouponReturned: expected sent true"},
		{"notOut", `["CouponReturned"]`, `["CouponLocked"]`, "CouponLocked: expected sent false"},
		{"review", `["PAID_WITHOUT_LEASE"]`, `[]`, "expected [], got [PAID_WITHOUT_LEASE]"},
		{"review", `["PAID_WITHOUT_LEASE","PAID_WITHOUT_LEASE"]`, `["DOUBLE_PAYMENT"]`, "expected [DOUBLE_PAYMENT]"},
		{"reviewCount", `1`, `0`, "expected 0, got 1"},
		{"nRejected", `1`, `0`, "expected 0, got 1"},
		{"results", `{"0":"OK","4":"KEEP:PARTIAL"}`, `{"0":"DUPLICATE"}`, "step 0: expected DUPLICATE, got OK"},
		{"results", `{}`, `{"9":"OK"}`, `step "9" does not exist`},
		{"nResults", `{"OK":1,"REVIEW":1}`, `{"OK":2}`, "OK: expected 2 times"},
		{"decision", `["KEEP:PARTIAL"]`, `["RETURN:FULL"]`, "expected [RETURN:FULL], got [KEEP:PARTIAL]"},
		{"decision", `"KEEP:PARTIAL"`, `[]`, "expected [], got [KEEP:PARTIAL]"},
		{"count", `{"USED":1,"AVAILABLE":1,"VOID":0}`, `{"USED":2}`, "USED: expected 2"},
		{"nCoupons", `2`, `1`, "expected 1, got 2"},
		{"quota", `{"T1":{"issued":0}}`, `{"T1":{"issued":2}}`, "T1: expected 2 issued, got 0"},
		{"quota", `{}`, `{"T1":{"redisRemaining":2}}`, "T1: expected 2 remaining"},
	} {
		right := runText(t, fmt.Sprintf(strings.ReplaceAll(story, "\n", ""), fmt.Sprintf("%q:%s", c.name, c.right)))
		if right.Verdict != Passed {
			t.Errorf("%s %s: %s %s", c.name, c.right, right.Verdict, right.Detail)
		}
		wrong := runText(t, fmt.Sprintf(strings.ReplaceAll(story, "\n", ""), fmt.Sprintf("%q:%s", c.name, c.wrong)))
		if wrong.Verdict != Failed || !strings.Contains(wrong.Detail, c.detail) {
			t.Errorf("%s %s: %s %q, want %q", c.name, c.wrong, wrong.Verdict, wrong.Detail, c.detail)
		}
		odd := runText(t, fmt.Sprintf(strings.ReplaceAll(story, "\n", ""), fmt.Sprintf("%q:true", c.name)))
		if odd.Verdict != Failed || !strings.Contains(odd.Detail, "assert "+c.name) {
			t.Errorf("%s of another shape: %s %q", c.name, odd.Verdict, odd.Detail)
		}
	}
}

// TestEveryAssertionIsTried: none is left out above.
func TestEveryAssertionIsTried(t *testing.T) {
	want := []string{
		"count", "decision", "ledger", "nCoupons", "nRejected", "nResults", "notOut", "orders", "out", "quota", "red",
		"redMax", "redTotal", "reportHas", "results", "review", "reviewCount", "states", "statesIn", "versions",
	}
	if diff := cmp.Diff(want, sortedKeys(assertions())); diff != "" {
		t.Errorf("assertions (-tried +known):\n%s", diff)
	}
}

// TestVerdicts: what cannot be run is said to be so, and what is no case fails
// without keeping the others from running.
func TestVerdicts(t *testing.T) {
	placed := `{"do":"OrderPlaced","order":"A","customer":"u1","coupons":["c1"]%s}`
	for _, c := range []struct {
		name, line string
		verdict    Verdict
		detail     string
	}{
		{"no case", `{"id":`, Failed, "line 1: unexpected end"},
		{"a list", `[1]`, Failed, "line 1: json"},
		{"another shape", `{"id":"X","sequence":[{"do":"OrderPlaced","coupons":"c1"}]}`, Failed, "line 1: json"},
		{"nothing done", `{"id":"X"}`, Failed, "a case needs a sequence"},
		{"an operation", `{"id":"X","sequence":[{"do":"Dance"}]}`, Unsupported, "Dance"},
		{"an operation behind others", `{"id":"X","sequence":[` + fmt.Sprintf(placed, "") + `,{"do":"Dance"}]}`, Unsupported, "Dance"},
		{"an edit of what no template has", `{"id":"X","sequence":[{"do":"EditTemplate","set":{"color":"red"}}]}`, Unsupported, "EditTemplate of color"},
		{"an edit to a list", `{"id":"X","sequence":[{"do":"EditTemplate","set":[]}]}`, Failed, "set: json"},
		{"an edit to another shape", `{"id":"X","sequence":[{"do":"EditTemplate","set":{"total":"many"}}]}`, Failed, "set total"},
		{"an edit to no policy", `{"id":"X","sequence":[{"do":"EditTemplate","set":{"policy":{"full":"SHRED"}}}]}`, Failed, "SHRED"},
		{"nobody to erase", `{"id":"X","sequence":[{"do":"EraseCustomer"}]}`, Unsupported, "EraseCustomer"},
		{"an assertion", `{"id":"X","sequence":[` + fmt.Sprintf(placed, "") + `],"right":{"assert":{"mood":1}}}`, Unsupported, "assert mood"},
		{"a fault", `{"id":"X","sequence":[` + fmt.Sprintf(placed, `,"fault":"flood"`) + `]}`, Unsupported, "fault flood"},
		{"a time", `{"id":"X","sequence":[{"t":"soon","do":"ExpireScan"}]}`, Failed, `instant "soon"`},
		{"a time of another kind", `{"id":"X","sequence":[{"t":true,"do":"ExpireScan"}]}`, Failed, "json"},
		{"a lease", `{"id":"X","sequence":[` + fmt.Sprintf(placed, `,"lease":"long"`) + `]}`, Failed, `lease "long"`},
		{"a timer without a lease", `{"id":"X","sequence":[{"do":"LeaseExpiryDue"}]}`, Failed, "want its name"},
		{"a timer of a misnamed lease", `{"id":"X","sequence":[{"do":"LeaseExpiryDue","lease":"A/c1"}]}`, Failed, "order/coupon#generation"},
		{"a misnamed token", `{"id":"X","sequence":[` + fmt.Sprintf(placed, `,"token":"A-c1-0"`) + `]}`, Failed, "token: lease"},
		{"a policy", `{"id":"X","setup":{"templates":{"T1":{"policy":{"full":"SHRED"}}}},"sequence":[{"do":"ExpireScan"}]}`, Failed, "SHRED"},
		{"an extension", `{"id":"X","setup":{"templates":{"T1":{"policy":{"expired":"EXTEND:x"}}}},"sequence":[{"do":"ExpireScan"}]}`, Failed, "EXTEND:x"},
		{"an end", `{"id":"X","setup":{"templates":{"T1":{"until":"soon"}}},"sequence":[{"do":"ExpireScan"}]}`, Failed, "until"},
		{"an owner", `{"id":"X","setup":{"coupons":{"c1":{"owner":7}}},"sequence":[{"do":"ExpireScan"}]}`, Failed, "owner"},
		{"a coupon twice", `{"id":"X","setup":{"coupons":{"c1":{},"C1":{}}},"sequence":[{"do":"ExpireScan"}]}`, Failed, "not issued: SKIPPED"},
		{"orders without end", `{"id":"X","sequence":[` + strings.TrimSuffix(strings.Repeat(
			`{"do":"ExpireScan","par":"a"},{"do":"ExpireScan","par":"b"},{"do":"ExpireScan","par":"c"},`, 5), ",") + `]}`, Failed, "1728000 orders"},
	} {
		report := runText(t, c.line)
		if report.Verdict != c.verdict || !strings.Contains(report.Detail, c.detail) {
			t.Errorf("%s: %s %q, want %s %q", c.name, report.Verdict, report.Detail, c.verdict, c.detail)
		}
	}
}

// TestReadCases: one case a line, blank lines are none, and a line too long is an
// error of the file.
func TestReadCases(t *testing.T) {
	cases, err := ReadCases(strings.NewReader("\n{\"id\":\"A\",\"title\":\"a\"}\n\n  {\"title\":\"b\"}\nnonsense\n"))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range cases {
		ids = append(ids, c.ID)
	}
	if diff := cmp.Diff([]string{"A", "line 4", "line 5"}, ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	if _, err := ReadCases(strings.NewReader(strings.Repeat("x", maxCaseLine+1))); err == nil {
		t.Error("a line of any length is read")
	}
}

// TestInterleavings: steps with one label change places with each other, five in
// every way, more of them forward and backward.
func TestInterleavings(t *testing.T) {
	for _, c := range []struct {
		labels string
		want   int
		last   []int
	}{
		{"----", 1, []int{0, 1, 2, 3}},
		{"-aa-", 2, []int{0, 2, 1, 3}},
		{"a-a", 2, []int{2, 1, 0}},
		{"abab", 4, []int{2, 3, 0, 1}},
		{"aaa", 6, []int{2, 1, 0}},
		{"aaaaa", 120, []int{4, 3, 2, 1, 0}},
		{"aaaaaa", 2, []int{5, 4, 3, 2, 1, 0}},
		{"aaabbbbbbb", 12, []int{2, 1, 0, 9, 8, 7, 6, 5, 4, 3}},
	} {
		var steps []Step
		for _, label := range c.labels {
			steps = append(steps, Step{Par: strings.Trim(string(label), "-")})
		}
		orders := Interleavings(steps)
		seen := map[string]bool{}
		for _, order := range orders {
			seen[fmt.Sprint(order)] = true
		}
		if len(orders) != c.want || len(seen) != c.want || countInterleavings(steps) != c.want {
			t.Errorf("%s: %d orders, %d of them different, counted %d, want %d",
				c.labels, len(orders), len(seen), countInterleavings(steps), c.want)
		}
		if diff := cmp.Diff(c.last, orders[len(orders)-1]); diff != "" {
			t.Errorf("%s: last order (-want +got):\n%s", c.labels, diff)
		}
	}
}

// TestInstants: seconds after the start, or a moment of its own.
func TestInstants(t *testing.T) {
	t0 := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		`0`:                           t0,
		`90`:                          t0.Add(90 * time.Second),
		`0.5`:                         t0.Add(time.Second / 2),
		`-10`:                         t0.Add(-10 * time.Second),
		`"2019-08-14T04:00:00Z"`:      time.Date(2019, 8, 14, 4, 0, 0, 0, time.UTC),
		`"2019-08-14T04:00:00+02:00"`: time.Date(2019, 8, 14, 2, 0, 0, 0, time.UTC),
		`"2019-08-14T04:00:00.25Z"`:   time.Date(2019, 8, 14, 4, 0, 0, 250_000_000, time.UTC),
		`"2019-08-14T04:00:00"`:       time.Date(2019, 8, 14, 4, 0, 0, 0, time.UTC),
		`"2019-08-14"`:                time.Date(2019, 8, 14, 0, 0, 0, 0, time.UTC),
	} {
		var at Instant
		if err := at.UnmarshalJSON([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got := at.From(t0); !got.Equal(want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

// TestDeliveriesOfAStepAreOneMessage: however often and whenever a step is
// delivered, its id, content and own time are the same; steps share a message
// only by their event id.
func TestDeliveriesOfAStepAreOneMessage(t *testing.T) {
	at := func(seconds float64) *Instant { return &Instant{seconds: seconds} }
	for _, c := range []struct {
		name          string
		first, second Step
		sameID        bool
	}{
		{"a step", Step{Do: "OrderClosed", T: at(5), Order: "A"}, Step{Do: "OrderClosed", T: at(5), Order: "A"}, true},
		{"a message that comes again", Step{Do: "OrderClosed", T: at(5), EventID: "e"},
			Step{Do: "OrderClosed", T: at(90), EventID: "e", Fault: "crash_before_commit", Times: 3, Par: "g"}, true},
		{"two messages", Step{Do: "OrderClosed", T: at(5), EventID: "e"}, Step{Do: "OrderClosed", T: at(5), EventID: "f"}, false},
	} {
		r := newRun(&Case{}, onMemory, "x.")
		first := r.request(&c.first, 3, nil)
		r.now = r.now.Add(time.Hour)
		second := r.request(&c.second, 3, nil)
		if (first.ID == second.ID) != c.sameID || first.Hash != second.Hash || !first.At.Equal(second.At) {
			t.Errorf("%s: %+v, then %+v", c.name, first, second)
		}
	}
	r := newRun(&Case{}, onMemory, "x.")
	if r.request(&Step{Do: "ExpireScan"}, 1, nil).ID == r.request(&Step{Do: "ExpireScan"}, 2, nil).ID {
		t.Error("two steps are one message")
	}
}

package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
	"couponlease/messages"
)

// TestCommandsOnOneCouponFold: in a batch, each command has its ledger row, and each
// coupon one final row, however many commands were about it.
func TestCommandsOnOneCouponFold(t *testing.T) {
	const n, batch = 70, 7
	for _, coupons := range []int{1, 2, 35} {
		ledger := simulate.NewLedger(time.Now, coupon.DefaultRules(), foretold())
		apply := func(requests []coupon.Request, want coupon.Status) (changes *coupon.Changes) {
			t.Helper()
			err := ledger.Apply(t.Context(), requests, func(w *coupon.World) {
				for i := range requests {
					if outcome := coupon.Decide(w, &requests[i]); outcome.Status != want {
						t.Errorf("%d coupons: %s: %s %s", coupons, requests[i].Key, outcome.Status, outcome.Code)
					}
				}
				changes = w.Seal()
			})
			if err != nil {
				t.Fatal(err)
			}
			return changes
		}
		apply([]coupon.Request{{Fact: coupon.DefineTemplate{Template: coupon.Template{
			ID: "t",
			Terms: coupon.Terms{
				Budget: coupon.NoLimit, UsesPerPerson: coupon.NoLimit, PolicyVersion: 1,
			},
		}}}}, coupon.Applied)
		codes := hotCodes(coupons)
		for _, code := range codes {
			apply([]coupon.Request{{Fact: coupon.ImportCoupon{Code: code, Template: "t"}}}, coupon.Applied)
		}
		var rows, updates int
		for part := range slices.Chunk(cycles(codes, n), batch) {
			changes := apply(part, coupon.Applied)
			rows, updates = rows+len(changes.Operations), updates+len(changes.Coupons)
		}
		if want := n / batch * min(coupons, batch); rows != n || updates != want {
			t.Errorf("%d coupons: %d ledger rows and %d updates of %d commands, want %d updates", coupons, rows, updates, n, want)
		}
	}
}

func TestRenewalsTakeTheCouponsInTurn(t *testing.T) {
	codes := hotCodes(3)
	all, err := requests(renewals(codes, []messages.Token{"a", "b", "c"}, 7))
	if err != nil {
		t.Fatal(err)
	}
	keys, each := map[string]bool{}, map[string]int{}
	for _, r := range all {
		f := r.Fact.(coupon.RenewLease)
		keys[r.Key] = true
		each[f.Coupon]++
		if want := string("abc"[slices.Index(codes, f.Coupon)]); f.Token != coupon.HashToken(want) {
			t.Errorf("%s has the token of another coupon", f.Coupon)
		}
	}
	if len(keys) != 7 || each[codes[0]] != 3 || each[codes[1]] != 2 || each[codes[2]] != 2 {
		t.Errorf("%d keys, by coupon %v", len(keys), each)
	}
}

func TestFoldTellsRowsPerCommandAndFindsLosses(t *testing.T) {
	const locks, commands = 10, 1000
	for name, c := range map[string]struct {
		written written
		fault   string
	}{
		"folded":           {written{answers: 1010, ledger: 1010, updates: 14}, ""},
		"an answer lost":   {written{answers: 1009, ledger: 1010, updates: 14}, "999 answers to 1000 commands"},
		"one was refused":  {written{answers: 1010, ledger: 1009, updates: 14}, "999 ledger rows of 1000 commands"},
		"nothing updated":  {written{answers: 1010, ledger: 1010, updates: 10}, "0 updates"},
		"updated for none": {written{answers: 1010, ledger: 1010, updates: 1011}, "1001 updates"},
	} {
		m := Measurement{Rate: 5}
		m.fold(c.written, locks, commands)
		faults := strings.Join(m.Faults, "; ")
		if c.fault == "" && (faults != "" || m.CouponUpdates != 0.004 || m.LedgerRows != 1 || m.Rate != 5) {
			t.Errorf("%s: %+v", name, m)
		}
		if c.fault != "" && (!strings.Contains(faults, c.fault) || m.Rate != 0) {
			t.Errorf("%s: found %q, want %q", name, faults, c.fault)
		}
	}
}

func TestTheReportTellsHowCommandsFold(t *testing.T) {
	r := Report{Rounds: 1, Hot: true, Measurements: []Measurement{
		{Arm: armHot(1), Round: 1, Rate: 6000, MeanBatch: 250, CouponUpdates: 0.0041, LedgerRows: 1},
		{Arm: armSpread, Round: 1, Rate: 4000, MeanBatch: 250, CouponUpdates: 1, LedgerRows: 1},
		{Arm: armHotEach, Round: 1, Rate: 400, MeanBatch: 1, CouponUpdates: 1, LedgerRows: 1},
	}}
	r.summarise(hotArms())
	var out strings.Builder
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"hot-1 / spread", "1.50", "hot-1 / hot-1-each", "15.00", "0.0041"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not in the report:\n%s", part, out.String())
		}
	}
	if strings.Contains(out.String(), "composed") {
		t.Errorf("the report speaks of arms that it has not got:\n%s", out.String())
	}
}

func TestHotHasArmsOfItsOwn(t *testing.T) {
	all := hotArms()
	names := map[string]bool{}
	for _, a := range all {
		names[a.name] = true
	}
	for _, c := range hotScores() {
		if !names[c.over] || !names[c.under] {
			t.Errorf("%s / %s compares an arm that there is not", c.over, c.under)
		}
	}
	if _, err := choose(all, armOurs); err == nil {
		t.Error("an arm of the other benchmark was chosen")
	}
	if err := run(options{hot: true, mix: true}, nil); err == nil {
		t.Error("-hot and -mix were taken together")
	}
}

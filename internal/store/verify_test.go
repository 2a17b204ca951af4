package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
)

// verify verifies in small ranges, so that there are several.
func verify(t *testing.T, s *Store, change ...func(*VerifyOptions)) LedgerVerdict {
	t.Helper()
	o := VerifyOptions{Parallel: 3, Range: 4, Limit: 1000}
	for _, f := range change {
		f(&o)
	}
	verdict, err := s.VerifyLedger(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return verdict
}

// found lists kind and coupon of the findings.
func (v LedgerVerdict) found() (all []string) {
	for _, f := range v.Findings {
		all = append(all, fmt.Sprint(f.Kind, " ", f.Coupon))
	}
	return all
}

// lived leaves coupons with all kinds of operations.
func lived(t *testing.T, s *Store) {
	t.Helper()
	m := newModel()
	g := newTraffic(7, m)
	at := now(t, s)
	batches := g.certain(at)
	var outcomes []coupon.Outcome
	for i := range 250 {
		batch := g.batch(at)
		if i < len(batches) {
			batch = batches[i]
		}
		if err := s.Apply(t.Context(), batch, func(w *coupon.World) {
			decideAll(batch, &outcomes)(w)
			m.keep(w)
		}); err != nil {
			t.Fatal(err)
		}
	}
	// What chance may leave out.
	issue(t, s, unlimited("till"), "renewed", "released")
	for _, code := range []string{"renewed", "released"} {
		apply(t, s, command("lock"+code, at, coupon.LockCoupon{Coupon: code, Order: "o" + code, Lease: time.Hour}))
	}
	apply(t, s, command("renew", at, coupon.RenewLease{Coupon: "renewed", Token: held(t, s, "renewed"), Lease: 2 * time.Hour}))
	apply(t, s, command("release", at, coupon.ReleaseLease{Coupon: "released", Token: held(t, s, "released"), Reason: "CHANGED_MIND"}))
}

// defenceless takes everything down by which the ledger defends itself.
func defenceless(t *testing.T, s *Store) {
	t.Helper()
	execute(t, s, `alter table coupon_operation disable trigger append_only`)
	execute(t, s, `alter table coupon_operation drop constraint coupon_operation_pkey, drop constraint one_version_at_a_time`)
	execute(t, s, `drop index coupon_operation_business_key`)
	execute(t, s, `alter table user_coupon drop constraint locked_means_leased, drop constraint used_means_redeemed`)
}

func TestTheLedgerGivesEveryRow(t *testing.T) {
	s := open(t)
	lived(t, s)
	verdict := verify(t, s)
	if verdict.Found != 0 {
		t.Errorf("found %v", verdict.Findings)
	}
	coupons, operations := scalar[int64](t, s, `select count(*) from user_coupon`),
		scalar[int64](t, s, `select count(*) from coupon_operation`)
	if verdict.Coupons != coupons || verdict.Operations != operations || coupons < 30 {
		t.Errorf("looked at %d of %d coupons and %d of %d operations", verdict.Coupons, coupons, verdict.Operations, operations)
	}
	for _, operation := range []coupon.Operation{
		coupon.Lock, coupon.Renew, coupon.Redeem, coupon.Release, coupon.Return, coupon.Reverse, coupon.Withdraw,
	} {
		if scalar[int64](t, s, `select count(*) from coupon_operation where operation = $1`, string(operation)) == 0 {
			t.Errorf("no coupon has a %s", operation)
		}
	}
}

// TestPlantedFaultsOfTheLedgerAreFound: each is found under its name, and nothing else.
func TestPlantedFaultsOfTheLedgerAreFound(t *testing.T) {
	s := open(t)
	redeemed(t, s, 23)
	defenceless(t, s)
	for _, plant := range []struct{ want, says, statement string }{
		{"DIFFERS cn-00001", "at version 4", `update user_coupon set version = 4 where coupon_id = 'cn-00001'`},
		{"DIFFERS cn-00002", "the row for order", `update user_coupon set redemption_order_id = 'x' where coupon_id = 'cn-00002'`},
		{"DIFFERS cn-00003", "the ledger gives USED until 20",
			`update coupon_operation set valid_until = now() where coupon_id = 'cn-00003' and to_version = 3`},
		{"DIFFERS cn-00004", "the ledger gives LOCKED", `delete from coupon_operation where coupon_id = 'cn-00004' and to_version = 3`},
		{"GAP cn-00005", "version 3: it follows version 1", `delete from coupon_operation where coupon_id = 'cn-00005' and to_version = 2`},
		{"FORK cn-00006", "version 2: it follows version 2",
			`insert into coupon_operation select * from coupon_operation where coupon_id = 'cn-00006' and to_version = 2`},
		{"IMPOSSIBLE cn-00007", "is not in the table",
			`update coupon_operation set operation = 'RELEASE' where coupon_id = 'cn-00007' and to_version = 3`},
		{"IMPOSSIBLE cn-00008", "is current",
			`update coupon_operation set order_id = 'x' where coupon_id = 'cn-00008' and to_version = 3`},
		{"NO_LEDGER cn-00009", "the ledger has nothing of it", `delete from coupon_operation where coupon_id = 'cn-00009'`},
		{"NO_ROW cn-00010", "there is no such coupon", `delete from user_coupon where coupon_id = 'cn-00010'`},
		{"DIFFERS cn-00011", "with active redemption false",
			`update user_coupon set redemption_id = null where coupon_id = 'cn-00011'`},
		{"NO_ROW zz", "there is no such coupon", `insert into coupon_operation select (jsonb_populate_record(o,
			'{"coupon_id": "zz"}')).* from coupon_operation o where coupon_id = 'cn-00000'`},
	} {
		before := verify(t, s).found()
		execute(t, s, plant.statement)
		verdict := verify(t, s)
		want := append(before, plant.want)
		slices.SortFunc(want, func(a, b string) int {
			return strings.Compare(a[strings.Index(a, " "):], b[strings.Index(b, " "):])
		})
		if diff := cmp.Diff(want, verdict.found()); diff != "" || verdict.Found != int64(len(want)) {
			t.Fatalf("%s: found %d (-want +got):\n%s", plant.want, verdict.Found, diff)
		}
		i := slices.Index(verdict.found(), plant.want)
		if text := fmt.Sprint(verdict.Findings[i].Violations); !strings.Contains(text, plant.says) {
			t.Errorf("%s: it does not say %q: %s", plant.want, plant.says, text)
		}
	}
}

// TestVerificationJudgesAsReplayDoes: whatever is broken, the fast way finds the coupons
// in which replaying the whole history finds something, and says the same.
func TestVerificationJudgesAsReplayDoes(t *testing.T) {
	s := open(t)
	lived(t, s)
	defenceless(t, s)
	random := rand.New(rand.NewPCG(1, 1))
	const choose = ` where (coupon_id, to_version) in (select coupon_id, to_version from coupon_operation
		order by md5(coupon_id || to_version || '%d') limit 2)`
	const uuid = `'00000000-0000-7000-8000-0000000000ff'`
	for i, change := range []string{
		`set from_version = from_version + 1`, `set to_version = to_version + 1`, `set from_state = 'USED'`,
		`set to_state = 'EXPIRED'`, `set operation = 'REDEEM'`, `set operation = 'RENEW'`, `set order_id = 'x'`,
		`set lease_id = ` + uuid, `set redemption_id = ` + uuid, `set original_id = ` + uuid, `set operation_id = ` + uuid,
		`set valid_until = now()`, `set lease_id = null`, `set redemption_id = null`,
	} {
		execute(t, s, `update coupon_operation `+change+fmt.Sprintf(choose, random.IntN(1000)+i))
	}
	want := map[string][]coupon.Violation{}
	err := s.EachHistory(t.Context(), func(h coupon.History) error {
		folded, err := coupon.Replay(h.Operations)
		if violations := coupon.CheckReplay(h.Coupon, folded, err); len(violations) > 0 && len(h.Operations) > 0 {
			want[h.Coupon.ID] = violations
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]coupon.Violation{}
	for _, f := range verify(t, s).Findings {
		got[f.Coupon] = f.Violations
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 10 {
		t.Errorf("%d coupons are broken (-replay +verification):\n%s", len(want), diff)
	}
}

// TestTrafficMakesNoFindings: while some ranges are read, coupons of all ranges change.
func TestTrafficMakesNoFindings(t *testing.T) {
	const coupons = 40
	s := open(t)
	redeemed(t, s, coupons)
	at := now(t, s)
	refunds := 0
	verdict := verify(t, s, func(o *VerifyOptions) {
		o.Progress = func(done, total int64) {
			if total != coupons || done > total {
				t.Errorf("progress %d of %d", done, total)
			}
			for range 4 {
				order := name("on", refunds%coupons)
				apply(t, s, request(fmt.Sprint("refund", refunds), at,
					coupon.RefundApproved{Order: order, Refund: fmt.Sprint(refunds), Amount: 900, Currency: "EUR"}))
				refunds++
			}
			issue(t, s, unlimited("summer"), fmt.Sprint("later", refunds))
		}
	})
	if refunds < 30 || verdict.Found != 0 || verdict.Coupons != coupons {
		t.Errorf("with %d refunds meanwhile: %d coupons, %v", refunds, verdict.Coupons, verdict.Findings)
	}
}

func TestVerificationOfOneCoupon(t *testing.T) {
	s := open(t)
	redeemed(t, s, 3)
	execute(t, s, `update user_coupon set version = 9`)
	verdict := verify(t, s, func(o *VerifyOptions) { o.Coupon = "cn-00001" })
	if diff := cmp.Diff([]string{"DIFFERS cn-00001"}, verdict.found()); diff != "" || verdict.Coupons != 1 ||
		verdict.Operations != 3 || verdict.ByKind[LedgerDiffers] != 1 {
		t.Errorf("%+v", verdict)
	}
	if verdict := verify(t, s, func(o *VerifyOptions) { o.Limit = 2 }); verdict.Found != 3 ||
		!slices.Equal(verdict.found(), []string{"DIFFERS cn-00000", "DIFFERS cn-00001"}) {
		t.Errorf("%d found, kept %v", verdict.Found, verdict.found())
	}
	if verdict := verify(t, s, func(o *VerifyOptions) { o.Coupon = "nowhere" }); verdict.Coupons+verdict.Operations > 0 {
		t.Errorf("%+v", verdict)
	}
}

package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/outbox"
)

// plant is a fault that is made in the database of used coupons.
type plant struct {
	fault coupon.Fault
	// statements make it on the coupon and order of the number that %[1]d stands for.
	statements []string
	// subject gives what is found of it.
	subject func(n int) string
}

func ofCoupon(n int) string { return couponOf(n) }
func ofPair(n int) string   { return fmt.Sprintf("order-%d/%s", n, couponOf(n)) }
func ofOrder(n int) string  { return fmt.Sprintf("order-%d", n) }

// The coupon of a number, and what takes its redemption back as if it had never been.
const (
	theCoupon  = `left(md5('%[1]d'), 16)`
	unredeemed = `with gone as (delete from coupon_redemption where coupon_id = ` + theCoupon + `),
			step as (delete from coupon_operation where coupon_id = ` + theCoupon + ` and to_version = 3),
			named as (update order_coupon set redemption_id = null where order_id = 'order-%[1]d')
		update user_coupon set state = 'LOCKED', version = 2, cycle = 0, redemption_id = null, redemption_cycle = null,
			redemption_order_id = null, redemption_payment_id = null, redemption_lease_id = null,
			redemption_operation_id = null, redemption_policy_version = null, lease_id = md5('lease%[1]d')::uuid,
			lease_generation = 1, lease_order_id = 'order-%[1]d', lease_token_hash = sha256('token%[1]d'::bytea),
			lease_purpose = 'ORDER', lease_deadline = date_trunc('day', now()) + interval '2 days',
			lease_acquired_version = 2, lease_version = 2
		where coupon_id = ` + theCoupon
	granted = `update coupon_lock l set deadline = c.lease_deadline from user_coupon c
		where l.coupon_id = c.coupon_id and c.coupon_id = ` + theCoupon
	armed = `insert into lease_timer (due_at, version, lease_id, far, coupon_id)
		select lease_deadline, lease_version, lease_id, false, coupon_id from user_coupon where coupon_id = ` + theCoupon
	unpaid = `update order_fact set payments = '[]' where order_id = 'order-%[1]d'`
)

// plants are all faults of our own books, and variants of some.
func plants() []plant {
	return []plant{
		{coupon.FaultUsedWithoutRedemption, []string{`delete from coupon_redemption where coupon_id = ` + theCoupon}, ofCoupon},
		{coupon.FaultUsedWithoutRedemption, []string{
			`delete from order_coupon where order_id = 'order-%[1]d'`,
		}, ofCoupon},
		{coupon.FaultDoubleUse, []string{
			`insert into order_fact select (jsonb_populate_record(o, '{"order_id": "second-%[1]d"}')).* from order_fact o
				where o.order_id = 'order-%[1]d'`,
			`insert into order_coupon select (jsonb_populate_record(n, '{"order_id": "second-%[1]d",
				"redemption_id": "00000000-0000-7000-8000-000000000001"}')).* from order_coupon n where n.order_id = 'order-%[1]d'`,
			`insert into coupon_redemption select (jsonb_populate_record(r, '{"order_id": "second-%[1]d", "cycle": 2,
				"redemption_id": "00000000-0000-7000-8000-000000000001"}')).* from coupon_redemption r where r.coupon_id = ` + theCoupon,
		}, ofCoupon},
		{coupon.FaultDoubleUse, []string{
			`insert into order_fact select (jsonb_populate_record(o, '{"order_id": "claims-%[1]d"}')).* from order_fact o
				where o.order_id = 'order-%[1]d'`,
			`insert into order_coupon select (jsonb_populate_record(n, '{"order_id": "claims-%[1]d"}')).* from order_coupon n
				where n.order_id = 'order-%[1]d'`,
		}, ofCoupon},
		{coupon.FaultPaidNotRedeemed, []string{unredeemed, granted, armed}, ofPair},
		{coupon.FaultClosedStillLocked, []string{unredeemed, granted, armed, `update order_fact set payments = '[]',
			closes = jsonb_build_array(jsonb_build_object('reason', 'cancelled', 'at', now())) where order_id = 'order-%[1]d'`}, ofPair},
		{coupon.FaultGivenUpStillHeld, []string{`update order_fact set superseded_by_id = 'later' where order_id = 'order-%[1]d'`}, ofPair},
		{coupon.FaultReviewNotOpened, []string{`update order_fact set closes = jsonb_build_array(jsonb_build_object(
			'reason', 'cancelled', 'at', placed_at)) where order_id = 'order-%[1]d'`}, ofPair},
		{coupon.FaultDiscountWithoutRedemption, []string{
			`delete from coupon_redemption where coupon_id = ` + theCoupon,
			`delete from coupon_operation where coupon_id = ` + theCoupon + ` and to_version > 1`,
			`update user_coupon set state = 'AVAILABLE', version = 1, cycle = 0, leases = 0, redemption_id = null,
				redemption_cycle = null, redemption_order_id = null where coupon_id = ` + theCoupon,
		}, ofPair},
		{coupon.FaultOrphanPayment, []string{`insert into order_fact (order_id, placed, payments, closes, reviews, children)
			values ('orphan-%[1]d', false, jsonb_build_array(jsonb_build_object('id', 'p', 'amount', 5,
			'at', now() - interval '2 hours')), '[]', '{}', '{}')`}, func(n int) string { return fmt.Sprintf("orphan-%d", n) }},
		{coupon.FaultReturnNotDone, []string{`insert into refund_coupon (order_id, refund_id, coupon_id, policy_version,
			payable, paid, refunded, decided_at, redemption_id, decision)
			select order_id, 'refund', coupon_id, 1, 900, 900, 900, now(), redemption_id, 'RETURN:FULL'
			from order_coupon where order_id = 'order-%[1]d'`, `insert into refund_fact (order_id, refund_id, amount,
			refunded_at, reason, cause_id) values ('order-%[1]d', 'refund', 900, now(), 'customer', 'c')`}, ofCoupon},
		{coupon.FaultLedgerGap, []string{`delete from coupon_operation where coupon_id = ` + theCoupon + ` and to_version = 2`}, ofCoupon},
		{coupon.FaultLedgerGap, []string{
			`insert into coupon_operation select (jsonb_populate_record(o, '{"coupon_id": "nobody-%[1]d"}')).*
				from coupon_operation o where o.coupon_id = ` + theCoupon,
		}, func(n int) string { return fmt.Sprintf("nobody-%d", n) }},
		{coupon.FaultOrphanLease, []string{unredeemed, unpaid, `update user_coupon set lease_deadline = now() - interval '2 days'
			where coupon_id = ` + theCoupon, granted, armed}, ofCoupon},
		{coupon.FaultOrphanLease, []string{unredeemed, unpaid, granted}, ofCoupon},
		{coupon.FaultOrphanLease, []string{unredeemed, unpaid, armed, `delete from coupon_lock where coupon_id = ` + theCoupon}, ofCoupon},
		{coupon.FaultOldOpenLease, []string{unredeemed, unpaid,
			`update user_coupon set lease_deadline = null where coupon_id = ` + theCoupon,
			`update coupon_lock set deadline = null, granted_at = now() - interval '40 days' where coupon_id = ` + theCoupon}, ofCoupon},
		{coupon.FaultStaleFlow, []string{`insert into redeem_flow (redeem_no, stage, at, lease_id, request_id, step, coupon_id,
			code, reason, payment_id, cause_id) values ('RD%[1]d', 0, now(), md5('gone')::uuid, '%[1]d', 'PROCESSING',
			` + theCoupon + `, '', '', '', '')`}, func(n int) string { return fmt.Sprintf("RD%d", n) }},
	}
}

// sow plants each fault on a few coupons and gives what has to be found.
func sow(t *testing.T, s *Store, each int) (want []string) {
	t.Helper()
	execute(t, s, `alter table coupon_operation disable trigger append_only`)
	execute(t, s, `insert into order_fact select (jsonb_populate_record(o, '{"order_id": "later", "payments": []}')).*
		from order_fact o where o.order_id = 'order-1'`)
	n := 0
	for _, p := range plants() {
		for range each {
			if n++; n%10 == 0 {
				n++ // the templates of those have limits, and counters to go wrong
			}
			for _, statement := range p.statements {
				execute(t, s, strings.ReplaceAll(statement, "%[1]d", fmt.Sprint(n)))
			}
			want = append(want, fmt.Sprintf("%s %s", p.fault, p.subject(n)))
		}
	}
	execute(t, s, `update coupon_template set issued = issued + 1 where template_id = 'free'`)
	execute(t, s, `update coupon_template set held = held - 1 where template_id = 'limited'`)
	execute(t, s, `update claim_counter set held = held + 1 where person_id = 'user-10'`)
	want = append(want, "DRIFT free", "DRIFT limited")
	row, err := outbox.EncodeRow([]outbox.Message{
		{ID: "told", Type: "coupon.redeemed.v1", Body: []byte(`{}`)}, {ID: "untold", Type: "coupon.returned.v1", Body: []byte(`{"couponId":"c9","orderId":"o9"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, age := range []time.Duration{time.Hour, time.Minute} {
		execute(t, s, `insert into coupon_outbox (shard, messages, created_at, payload)
			values ($1, 2, now() - $2 * interval '1 microsecond', $3)`, i, age.Microseconds(), string(row))
	}
	want = append(want, "RETURN_NOT_PUBLISHED untold")
	slices.SortFunc(want, cmp.Compare[string])
	return want
}

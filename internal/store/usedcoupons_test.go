package store

import (
	"crypto/md5"
	"encoding/hex"
	"strconv"
	"testing"
)

// The statements below fill a schema with n used coupons as the engine would have left
// them: one template without limits and one with all of them, an order each, placed and
// paid, three operations, one lease and one redemption.
var usedCoupons = []struct{ what, statement string }{
	{"templates", `insert into coupon_template (template_id, version, status, budget, uses_per_person, held, issued,
			imported, policy_version, valid_days, zone, transferable)
		values ('free', 1, 'ACTIVE', -1, -1, 0, 0, $1::bigint - $1::bigint / 10, 1, 0, '', false),
			('limited', 1, 'ACTIVE', 1000000000, 1000000, $1::bigint / 10, 0, $1::bigint / 10, 1, 0, '', false)`},
	{"coupons", `insert into user_coupon (coupon_id, code, template_id, owner_id, batch_id, state, version, valid_until,
			issued_until, policy_version, leases, cycle, redemption_id, redemption_cycle, redemption_order_id,
			redemption_payment_id, redemption_lease_id, redemption_operation_id, redemption_policy_version, voided_from)
		select left(md5(n::text), 16), upper(left(md5(n::text), 16)), case n % 10 when 0 then 'limited' else 'free' end,
			'user-' || n % 1000, 'batch', 'USED', 3, '2030-01-01Z', '2030-01-01Z', 1, 1, 1, md5('redemption' || n)::uuid, 1,
			'order-' || n, 'pay-' || n, md5('lease' || n)::uuid, md5('operation' || n || '-3')::uuid, 1, ''
		from generate_series(1, $1::bigint) n`},
	{"counters", `insert into claim_counter (template_id, person_id, held)
		select template_id, owner_id, count(*) from user_coupon
		where template_id = 'limited' and $1::bigint > 0 group by 1, 2`},
	{"operations", `insert into coupon_operation (coupon_id, to_version, from_version, policy_version, valid_until, at,
			operation_id, lease_id, redemption_id, operation, from_state, to_state, reason, order_id, payment_id, refund_id,
			cause_id, actor, business_key)
		select left(md5(n::text), 16), v, v - 1, 1, '2030-01-01Z', now() - interval '1 day',
			md5('operation' || n || '-' || v)::uuid, case when v > 1 then md5('lease' || n)::uuid end,
			case v when 3 then md5('redemption' || n)::uuid end, (array['ISSUE', 'LOCK', 'REDEEM'])[v],
			(array['', 'AVAILABLE', 'LOCKED'])[v], (array['AVAILABLE', 'LOCKED', 'USED'])[v], '',
			case when v > 1 then 'order-' || n else '' end, case v when 3 then 'pay-' || n else '' end, '',
			'cause-' || n || '-' || v, 'orders', case v when 3 then 'redeem:order-' || n || ':1' end
		from generate_series(1, $1::bigint) n, generate_series(1, 3) v`},
	{"leases", `insert into coupon_lock (coupon_id, version, generation, acquired_version, deadline, granted_at, lease_id,
			operation_id, order_id, token_hash, purpose, renewal)
		select left(md5(n::text), 16), 2, 1, 2, now() - interval '20 hours', now() - interval '1 day',
			md5('lease' || n)::uuid, md5('operation' || n || '-2')::uuid, 'order-' || n, sha256(('token' || n)::bytea),
			'ORDER', false
		from generate_series(1, $1::bigint) n`},
	{"redemptions", `insert into coupon_redemption (coupon_id, cycle, policy_version, redeemed_at, redemption_id, lease_id,
			operation_id, order_id, payment_id)
		select left(md5(n::text), 16), 1, 1, now() - interval '1 day', md5('redemption' || n)::uuid, md5('lease' || n)::uuid,
			md5('operation' || n || '-3')::uuid, 'order-' || n, 'pay-' || n
		from generate_series(1, $1::bigint) n`},
	{"orders", `insert into order_fact (order_id, revision, payable, placed_at, placed, customer_id, currency, children,
			reviews, payments, closes)
		select 'order-' || n, 0, 900, now() - interval '1 day', true, 'user-' || n % 1000, 'EUR', '{}', '{}',
			jsonb_build_array(jsonb_build_object('id', 'pay-' || n, 'amount', 900, 'at', now() - interval '23 hours')), '[]'
		from generate_series(1, $1::bigint) n`},
	{"coupons of orders", `insert into order_coupon (order_id, coupon_id, discount, policy_version, lease_id, redemption_id,
			dropped, refusal, quote_id, reviews)
		select 'order-' || n, left(md5(n::text), 16), 100, 1, md5('lease' || n)::uuid, md5('redemption' || n)::uuid, false, '',
			'', '{}'
		from generate_series(1, $1::bigint) n`},
}

// fill makes n used coupons; the store needs patience for many.
func fill(t testing.TB, s *Store, n int) {
	t.Helper()
	for _, step := range usedCoupons {
		execute(t, s, step.statement, n)
	}
	execute(t, s, `analyze user_coupon, coupon_operation, coupon_lock, coupon_redemption, order_fact, order_coupon`)
}

// couponOf names the coupon of one number.
func couponOf(n int) string {
	sum := md5.Sum([]byte(strconv.Itoa(n)))
	return hex.EncodeToString(sum[:])[:16]
}

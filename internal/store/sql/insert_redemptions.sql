insert into coupon_redemption (
    coupon_id, cycle, policy_version, redeemed_at, redemption_id, lease_id, operation_id, order_id, payment_id
)
select n.coupon_id, n.cycle, n.policy_version, n.redeemed_at, n.redemption_id, n.lease_id, n.operation_id,
       n.order_id, n.payment_id
from unnest(
    $1::text[], $2::bigint[], $3::bigint[], $4::timestamptz[], $5::uuid[], $6::uuid[], $7::uuid[], $8::text[],
    $9::text[]
) as n (
    coupon_id, cycle, policy_version, redeemed_at, redemption_id, lease_id, operation_id, order_id, payment_id
)

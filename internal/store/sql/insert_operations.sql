insert into coupon_operation (
    coupon_id, to_version, from_version, policy_version, valid_until, at, operation_id, lease_id, redemption_id,
    original_id, operation, from_state, to_state, reason, order_id, payment_id, refund_id, cause_id, actor,
    business_key, request_hash
)
select n.coupon_id, n.to_version, n.from_version, n.policy_version, n.valid_until, n.at, n.operation_id, n.lease_id,
       n.redemption_id, n.original_id, n.operation, n.from_state, n.to_state, n.reason, n.order_id, n.payment_id,
       n.refund_id, n.cause_id, n.actor, n.business_key, n.request_hash
from unnest(
    $1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::timestamptz[], $6::timestamptz[], $7::uuid[], $8::uuid[],
    $9::uuid[], $10::uuid[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[],
    $17::text[], $18::text[], $19::text[], $20::text[], $21::bytea[]
) as n (
    coupon_id, to_version, from_version, policy_version, valid_until, at, operation_id, lease_id, redemption_id,
    original_id, operation, from_state, to_state, reason, order_id, payment_id, refund_id, cause_id, actor,
    business_key, request_hash
)

insert into refund_coupon (
    order_id, refund_id, coupon_id, policy_version, payable, paid, refunded, decided_at, redemption_id, operation_id,
    decision
)
select n.order_id, n.refund_id, n.coupon_id, n.policy_version, n.payable, n.paid, n.refunded, n.decided_at,
       n.redemption_id, n.operation_id, n.decision
from unnest(
    $1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::timestamptz[],
    $9::uuid[], $10::uuid[], $11::text[]
) as n (
    order_id, refund_id, coupon_id, policy_version, payable, paid, refunded, decided_at, redemption_id, operation_id,
    decision
)

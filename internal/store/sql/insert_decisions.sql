-- In the order in which they were taken. The orders are locked, so nobody else inserts
-- here.
insert into refund_coupon (
    order_id, refund_id, coupon_id, policy_version, payable, paid, refunded, decided_at, redemption_id, operation_id,
    decision
)
select n.order_id, n.refund_id, n.coupon_id, n.policy_version, n.payable, n.paid, n.refunded, n.decided_at,
       n.redemption_id, n.operation_id, n.decision
from (
    select unnest($1::text[]) as order_id, unnest($2::text[]) as refund_id, unnest($3::text[]) as coupon_id,
        unnest($4::bigint[]) as policy_version, unnest($5::bigint[]) as payable, unnest($6::bigint[]) as paid,
        unnest($7::bigint[]) as refunded, unnest($8::timestamptz[]) as decided_at,
        unnest($9::uuid[]) as redemption_id, unnest($10::uuid[]) as operation_id, unnest($11::text[]) as decision,
        generate_subscripts($1::text[], 1) as position
) as n
order by n.position

insert into coupon_redemption (
    coupon_id, cycle, policy_version, redeemed_at, redemption_id, lease_id, operation_id, order_id, payment_id
)
select n.coupon_id, n.cycle, n.policy_version, n.redeemed_at, n.redemption_id, n.lease_id, n.operation_id,
       n.order_id, n.payment_id
from (
    select unnest($1::text[]) as coupon_id, unnest($2::bigint[]) as cycle, unnest($3::bigint[]) as policy_version,
        unnest($4::timestamptz[]) as redeemed_at, unnest($5::uuid[]) as redemption_id, unnest($6::uuid[]) as lease_id,
        unnest($7::uuid[]) as operation_id, unnest($8::text[]) as order_id, unnest($9::text[]) as payment_id
) as n

insert into order_coupon (
    order_id, coupon_id, discount, policy_version, lease_id, redemption_id, dropped, refusal, quote_id, reviews
)
select n.order_id, n.coupon_id, n.discount, n.policy_version, n.lease_id, n.redemption_id, n.dropped, n.refusal,
       n.quote_id, n.reviews::text[]
from unnest(
    $1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::uuid[], $6::uuid[], $7::boolean[], $8::text[], $9::text[],
    $10::text[]
) as n (
    order_id, coupon_id, discount, policy_version, lease_id, redemption_id, dropped, refusal, quote_id, reviews
)

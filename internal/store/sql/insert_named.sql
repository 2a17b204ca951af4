insert into order_coupon (
    order_id, coupon_id, discount, policy_version, lease_id, redemption_id, dropped, refusal, quote_id, reviews
)
select n.order_id, n.coupon_id, n.discount, n.policy_version, n.lease_id, n.redemption_id, n.dropped, n.refusal,
       n.quote_id, n.reviews::text[]
from (
    select unnest($1::text[]) as order_id, unnest($2::text[]) as coupon_id, unnest($3::bigint[]) as discount,
        unnest($4::bigint[]) as policy_version, unnest($5::uuid[]) as lease_id, unnest($6::uuid[]) as redemption_id,
        unnest($7::boolean[]) as dropped, unnest($8::text[]) as refusal, unnest($9::text[]) as quote_id,
        unnest($10::text[]) as reviews
) as n

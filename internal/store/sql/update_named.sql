with done as (
    update order_coupon o
    set discount = n.discount, policy_version = n.policy_version, lease_id = n.lease_id,
        redemption_id = n.redemption_id, dropped = n.dropped, refusal = n.refusal, quote_id = n.quote_id,
        reviews = n.reviews::text[]
    from (
        select unnest($1::text[]) as order_id, unnest($2::text[]) as coupon_id, unnest($3::bigint[]) as discount,
            unnest($4::bigint[]) as policy_version, unnest($5::uuid[]) as lease_id,
            unnest($6::uuid[]) as redemption_id, unnest($7::boolean[]) as dropped, unnest($8::text[]) as refusal,
            unnest($9::text[]) as quote_id, unnest($10::text[]) as reviews
    ) as n
    where o.order_id = n.order_id and o.coupon_id = n.coupon_id
    returning 1
)
select expect_rows('update of order_coupon', count(*), cardinality($1::text[])) from done

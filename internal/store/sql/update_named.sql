with done as (
    update order_coupon o
    set discount = n.discount, policy_version = n.policy_version, lease_id = n.lease_id,
        redemption_id = n.redemption_id, dropped = n.dropped, refusal = n.refusal, quote_id = n.quote_id,
        reviews = n.reviews::text[]
    from unnest(
        $1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::uuid[], $6::uuid[], $7::boolean[], $8::text[],
        $9::text[], $10::text[]
    ) as n (
        order_id, coupon_id, discount, policy_version, lease_id, redemption_id, dropped, refusal, quote_id, reviews
    )
    where o.order_id = n.order_id and o.coupon_id = n.coupon_id
    returning 1
)
select expect_rows('update of order_coupon', count(*), cardinality($1::text[])) from done

with done as (
    update order_fact o
    set revision = n.revision, payable = n.payable, placed_at = n.placed_at, placed = n.placed,
        parent_id = n.parent_id, supersedes_id = n.supersedes_id, superseded_by_id = n.superseded_by_id,
        customer_id = n.customer_id, currency = n.currency, children = n.children::text[],
        reviews = n.reviews::text[], payments = n.payments::jsonb, closes = n.closes::jsonb
    from unnest(
        $1::text[], $2::bigint[], $3::bigint[], $4::timestamptz[], $5::boolean[], $6::text[], $7::text[], $8::text[],
        $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[]
    ) as n (
        order_id, revision, payable, placed_at, placed, parent_id, supersedes_id, superseded_by_id,
        customer_id, currency, children, reviews, payments, closes
    )
    where o.order_id = n.order_id
    returning 1
)
select expect_rows('update of order_fact', count(*), cardinality($1::text[])) from done

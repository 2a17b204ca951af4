with done as (
    update order_fact o
    set revision = n.revision, payable = n.payable, placed_at = n.placed_at, placed = n.placed,
        parent_id = n.parent_id, supersedes_id = n.supersedes_id, superseded_by_id = n.superseded_by_id,
        customer_id = n.customer_id, currency = n.currency, children = n.children::text[],
        reviews = n.reviews::text[], payments = n.payments::jsonb, closes = n.closes::jsonb
    from (
        select unnest($1::text[]) as order_id, unnest($2::bigint[]) as revision, unnest($3::bigint[]) as payable,
            unnest($4::timestamptz[]) as placed_at, unnest($5::boolean[]) as placed, unnest($6::text[]) as parent_id,
            unnest($7::text[]) as supersedes_id, unnest($8::text[]) as superseded_by_id,
            unnest($9::text[]) as customer_id, unnest($10::text[]) as currency, unnest($11::text[]) as children,
            unnest($12::text[]) as reviews, unnest($13::text[]) as payments, unnest($14::text[]) as closes
    ) as n
    where o.order_id = n.order_id
    returning 1
)
select expect_rows('update of order_fact', count(*), cardinality($1::text[])) from done

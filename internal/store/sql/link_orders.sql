-- All orders that are linked to the given ones, directly or by way of others.
with recursive linked (order_id) as (
    select n.order_id collate "C" from unnest($1::text[]) as n (order_id)
    union
    select link.order_id collate "C"
    from linked
    join order_fact o on o.order_id = linked.order_id
    cross join lateral unnest(
        o.children || array [o.parent_id, o.supersedes_id, o.superseded_by_id]
    ) as link (order_id)
    where link.order_id <> ''
)
select linked.order_id from linked limit $2

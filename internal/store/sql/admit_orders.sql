-- Empty rows for orders nobody has heard of, so that they can be locked. Ids come
-- sorted and are inserted in that order.
insert into order_fact (order_id)
select n.order_id from (
    select unnest($1::text[]) as order_id, generate_subscripts($1::text[], 1) as position
) as n
order by n.position
on conflict do nothing

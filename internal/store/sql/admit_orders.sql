-- Empty rows for orders nobody has heard of, so that they can be locked. Ids come
-- sorted and are inserted in that order.
insert into order_fact (order_id)
select n.order_id from unnest($1::text[]) with ordinality as n (order_id, position)
order by n.position
on conflict do nothing

-- The messages of the orders, and those that caused an operation.
select i.message_id, i.hash, i.at, i.kind, i.order_id, i.code, i.status, i.done_at
from inbox i
where i.order_id = any ($1::text[])
union
select i.message_id, i.hash, i.at, i.kind, i.order_id, i.code, i.status, i.done_at
from inbox i
where i.message_id = any ($2::text[])
order by 8, 3, 1
limit $3

-- Commands that have an answer, by their keys.
select c.idempotency_key, c.kind, c.coupon_id, c.order_id
from coupon_command c
where c.idempotency_key = any ($1::text[])

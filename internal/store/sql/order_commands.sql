-- The commands that named one of the orders, quotes and redemptions at tills included.
select idempotency_key, request_hash, kind, coupon_id, order_id, status, code, state, version, lease_id, deadline,
       operation_id, token_hash, refusals, cause_id, actor, occurred_at, done_at
from coupon_command
where order_id = any ($1::text[]) and order_id <> ''
order by done_at, version, idempotency_key
limit $2

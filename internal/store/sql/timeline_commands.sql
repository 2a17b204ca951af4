-- The commands about the coupon, and those about several coupons of orders that named
-- it.
select idempotency_key, request_hash, kind, coupon_id, order_id, status, code, state, version, lease_id, deadline,
       operation_id, token_hash, refusals, cause_id, actor, occurred_at, done_at
from coupon_command
where coupon_id = $1 and coupon_id <> ''
union all
select idempotency_key, request_hash, kind, coupon_id, order_id, status, code, state, version, lease_id, deadline,
       operation_id, token_hash, refusals, cause_id, actor, occurred_at, done_at
from coupon_command
where order_id = any ($2::text[]) and order_id <> '' and coupon_id = ''
order by done_at, version, idempotency_key
limit $3

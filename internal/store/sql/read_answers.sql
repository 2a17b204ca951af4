-- Asked after all locks are held: what another replica answered under the same key
-- for the same coupon is visible by then.
select idempotency_key, request_hash, kind, coupon_id, order_id, status, code, state, version, lease_id, deadline,
       operation_id, token_hash, refusals, cause_id, actor, occurred_at, done_at
from coupon_command
where idempotency_key = any ($1::text[])

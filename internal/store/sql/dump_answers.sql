select idempotency_key, request_hash, kind, coupon_id, order_id, status, code, state, version, lease_id, deadline,
       operation_id, token_hash, refusals, cause_id, actor, occurred_at, done_at
from coupon_command
order by idempotency_key

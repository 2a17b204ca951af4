select operation_id, coupon_id, operation, from_version, to_version, from_state, to_state, reason, order_id, lease_id,
       redemption_id, payment_id, refund_id, cause_id, actor, business_key, request_hash, original_id, policy_version,
       valid_until, at
from coupon_operation
where coupon_id >= $1 and coupon_id <= $2
order by coupon_id, to_version

select order_id, refund_id, coupon_id, decision, policy_version, redemption_id, payable, paid, refunded, operation_id,
       decided_at
from refund_coupon
where coupon_id >= $1 and coupon_id <= $2
order by coupon_id, position

select redemption_id, coupon_id, cycle, order_id, payment_id, lease_id, operation_id, policy_version, redeemed_at
from coupon_redemption
where coupon_id >= $1 and coupon_id <= $2
order by coupon_id, cycle

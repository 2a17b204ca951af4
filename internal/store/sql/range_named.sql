select order_id, coupon_id, refusal, lease_id, redemption_id, quote_id, discount, policy_version, dropped, reviews
from order_coupon
where order_id >= $1 and order_id <= $2
order by order_id, coupon_id

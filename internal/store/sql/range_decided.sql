select order_id, refund_id, coupon_id
from refund_coupon
where order_id >= $1 and order_id <= $2
order by order_id, position

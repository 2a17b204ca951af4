select order_id, refund_id, coupon_id
from refund_coupon
where order_id = any ($1::text[])
order by order_id, position

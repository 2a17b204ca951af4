select coupon_id, order_id, redemption_id
from order_coupon
where coupon_id = any ($1::text[])
order by coupon_id, order_id

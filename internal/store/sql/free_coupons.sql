select coupon_id
from user_coupon
where state = 'AVAILABLE' and valid_until <= $1::timestamptz and coupon_id > $2::text
order by coupon_id
limit $3

select coupon_id from user_coupon where coupon_id > $1::text order by coupon_id offset $2 limit 1

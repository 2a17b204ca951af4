select count(*) from user_coupon where coupon_id >= $1::text

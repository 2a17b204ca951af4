select coupon_id, code from user_coupon where coupon_id = any ($1::text[])

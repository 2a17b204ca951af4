select coupon_id from user_coupon where owner_id = $1 and owner_id <> '' order by coupon_id for no key update

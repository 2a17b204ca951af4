select order_id from order_coupon where coupon_id = $1 order by order_id limit $2

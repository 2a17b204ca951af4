-- How many coupons and orders a range of ids has.
select (select count(*) from user_coupon c
        where $3::boolean and c.coupon_id >= $1::text and ($2::text = '' or c.coupon_id < $2::text)),
       (select count(*) from order_fact o
        where not $3::boolean and o.order_id >= $1::text and ($2::text = '' or o.order_id < $2::text)
          and o.placed is not null)

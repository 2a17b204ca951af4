-- Ids of a share of the coupons, in percent, to divide all of them into ranges.
select coupon_id from user_coupon tablesample system ($1) order by coupon_id

select state, count(*) from user_coupon group by state

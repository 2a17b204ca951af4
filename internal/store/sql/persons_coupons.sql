select state, count(*) from user_coupon where owner_id = $1 group by state order by state

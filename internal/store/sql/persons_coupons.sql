select state, count(*) from user_coupon where owner_id = $1 and owner_id <> '' group by state order by state

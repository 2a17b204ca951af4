-- The orders of person $1 among those that were found, and all that named a coupon of any of the persons $2.
select order_id
from order_fact
where customer_id = $1 and order_id = any (array(
    select unnest($3::text[])
    union
    select n.order_id from user_coupon c join order_coupon n on n.coupon_id = c.coupon_id 
    where c.owner_id = any ($2::text[]) and c.owner_id <> ''
))
order by order_id
for no key update

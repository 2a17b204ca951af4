select order_id from order_fact where order_id > $1::text order by order_id offset $2 limit 1

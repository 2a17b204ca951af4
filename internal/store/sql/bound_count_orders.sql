select count(*) from order_fact where order_id >= $1::text

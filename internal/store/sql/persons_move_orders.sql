update order_fact set customer_id = $2 where order_id = any ($3::text[]) and customer_id = $1

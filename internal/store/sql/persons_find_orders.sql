-- A person's orders, by a walk through all orders: an index on who ordered would cost each new order another page.
select order_id from order_fact where customer_id = any ($1::text[])

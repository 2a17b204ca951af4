select order_id, refund_id, amount, reason, refunded_at
from refund_fact
where order_id = any ($1::text[])
order by order_id, position

select order_id, refund_id, amount, reason, refunded_at
from refund_fact
where order_id >= $1 and order_id <= $2
order by order_id, position

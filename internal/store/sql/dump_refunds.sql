select order_id, refund_id, amount, reason, refunded_at, cause_id from refund_fact order by order_id, refund_id

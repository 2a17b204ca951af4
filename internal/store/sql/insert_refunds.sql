insert into refund_fact (order_id, refund_id, amount, refunded_at, reason, cause_id)
select n.order_id, n.refund_id, n.amount, n.refunded_at, n.reason, n.cause_id
from unnest($1::text[], $2::text[], $3::bigint[], $4::timestamptz[], $5::text[], $6::text[])
    as n (order_id, refund_id, amount, refunded_at, reason, cause_id)

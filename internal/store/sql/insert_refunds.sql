-- In the order in which they came. The orders are locked, so nobody else inserts here.
insert into refund_fact (order_id, refund_id, amount, refunded_at, reason, cause_id)
select n.order_id, n.refund_id, n.amount, n.refunded_at, n.reason, n.cause_id
from (
    select unnest($1::text[]) as order_id, unnest($2::text[]) as refund_id, unnest($3::bigint[]) as amount,
        unnest($4::timestamptz[]) as refunded_at, unnest($5::text[]) as reason, unnest($6::text[]) as cause_id,
        generate_subscripts($1::text[], 1) as position
) as n
order by n.position

-- The orders of a range of ids for which something may still have to follow. Whoever
-- judges them reads them whole: this is only fast, and finds too many rather than too
-- few. Plain are orders that wait for money, and those that are paid, open, and use
-- their coupons.
with mine as materialized (
    select order_id, coalesce(placed, false) as placed,
           coalesce(payments, '[]') <> '[]' as paid, jsonb_array_length(coalesce(payments, '[]')) > 1 as again,
           coalesce(closes, '[]') <> '[]' as closed, coalesce(payable, 0) = 0 as free,
           coalesce(parent_id, '') <> '' or coalesce(supersedes_id, '') <> '' or coalesce(superseded_by_id, '') <> ''
               or cardinality(coalesce(children, '{}')) > 0 as linked
    from order_fact
    where order_id >= $1::text and ($2::text = '' or order_id < $2::text) and placed is not null
)
select order_id
from mine
where not placed and paid or again or linked
union all
select n.order_id
from order_coupon n
join mine o on o.order_id = n.order_id
left join user_coupon c on c.coupon_id = n.coupon_id
where n.order_id >= $1::text and ($2::text = '' or n.order_id < $2::text)
  and (n.dropped or c.coupon_id is null or not o.placed
       or (o.paid or o.free) and (o.closed or c.state <> 'USED' or c.redemption_order_id is distinct from n.order_id)
       or o.closed and c.lease_order_id is not distinct from n.order_id)

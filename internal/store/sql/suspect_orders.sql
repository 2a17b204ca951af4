-- The orders of a range of ids for which something may still have to follow. Whoever
-- judges them reads them whole: this is only fast, and finds too many rather than too
-- few. Plain are orders that wait for money, and those that are paid, open, and use
-- their coupons.
select o.order_id
from order_fact o
where o.order_id >= $1::text and ($2::text = '' or o.order_id < $2::text) and o.placed is not null
  and (not o.placed and coalesce(o.payments, '[]') <> '[]'
       or jsonb_array_length(coalesce(o.payments, '[]')) > 1
       or coalesce(o.parent_id, '') <> '' or coalesce(o.supersedes_id, '') <> ''
       or coalesce(o.superseded_by_id, '') <> '' or cardinality(coalesce(o.children, '{}')) > 0)
union
select n.order_id
from order_coupon n
join order_fact o on o.order_id = n.order_id
left join user_coupon c on c.coupon_id = n.coupon_id
where n.order_id >= $1::text and ($2::text = '' or n.order_id < $2::text)
  and (n.dropped or c.coupon_id is null or not coalesce(o.placed, false)
       or (coalesce(o.payments, '[]') <> '[]' or coalesce(o.payable, 0) = 0)
          and (c.state <> 'USED' or c.redemption_order_id is distinct from n.order_id or coalesce(o.closes, '[]') <> '[]')
       or coalesce(o.closes, '[]') <> '[]' and c.lease_order_id is not distinct from n.order_id)

-- The coupons of a range of ids that may have a fault. Whoever judges them reads them
-- whole: this is only fast, and finds too many rather than too few. $3 is when a lease
-- must have ended to be late.
with mine as materialized (
    select coupon_id, state, version, cycle, lease_id, lease_version, lease_deadline, redemption_id, redemption_cycle,
           redemption_order_id, redemption_lease_id
    from user_coupon
    where coupon_id >= $1::text and ($2::text = '' or coupon_id < $2::text)
), uses as materialized (
    select coupon_id, cycle, redemption_id, order_id
    from coupon_redemption
    where coupon_id >= $1::text and ($2::text = '' or coupon_id < $2::text)
), named as materialized (
    select coupon_id, order_id, redemption_id
    from order_coupon
    where coupon_id >= $1::text and ($2::text = '' or coupon_id < $2::text)
)
select coalesce(c.coupon_id, l.coupon_id) -- the ledger is not as long as the version says
from mine c
full join (select coupon_id, count(*) as operations, min(to_version) as first, max(to_version) as last
           from coupon_operation
           where coupon_id >= $1::text and ($2::text = '' or coupon_id < $2::text)
           group by coupon_id) l on l.coupon_id = c.coupon_id
where c.coupon_id is null or l.coupon_id is null or l.operations <> c.version or l.last <> c.version or l.first <> 1
union all
select c.coupon_id -- a use without evidence
from mine c
left join uses r on r.coupon_id = c.coupon_id and r.cycle = c.redemption_cycle and r.redemption_id = c.redemption_id
where c.state = 'USED' and (r.redemption_id is null or coalesce(c.redemption_order_id, '') = '')
union all
select c.coupon_id -- a use by an order that does not name it
from mine c
left join named n on n.coupon_id = c.coupon_id and n.order_id = c.redemption_order_id
where c.state = 'USED' and n.order_id is null
  and exists (select from coupon_lock l
              where l.coupon_id = c.coupon_id and l.lease_id = c.redemption_lease_id and l.purpose = 'ORDER')
union all
select c.coupon_id -- more or fewer uses than the coupon knows of
from mine c
left join (select coupon_id, count(*) as uses from uses group by coupon_id) r on r.coupon_id = c.coupon_id
where coalesce(r.uses, 0) <> c.cycle
union all
select n.coupon_id -- an order that claims a use of which there is no evidence
from named n
left join uses r on r.coupon_id = n.coupon_id and r.redemption_id = n.redemption_id and r.order_id = n.order_id
where n.redemption_id is not null and r.coupon_id is null
union all
select c.coupon_id -- a lease that is late, open-ended, without evidence or without a timer
from mine c
where c.state = 'LOCKED'
  and (c.lease_deadline is null or c.lease_deadline < $3::timestamptz
       or not exists (select from coupon_lock l
                      where l.coupon_id = c.coupon_id and l.version = c.lease_version and l.lease_id = c.lease_id)
       or not exists (select from lease_timer t
                      where t.due_at = c.lease_deadline and t.lease_id = c.lease_id and t.version = c.lease_version))
union all
select d.coupon_id -- a decision that was not carried out
from refund_coupon d
left join coupon_operation o on o.coupon_id = d.coupon_id and o.operation_id = d.operation_id
where d.coupon_id >= $1::text and ($2::text = '' or d.coupon_id < $2::text)
  and split_part(d.decision, ':', 1) in ('RETURN', 'RETIRE', 'VOID')
  and (o.operation_id is null or o.refund_id <> d.refund_id or o.redemption_id is distinct from d.redemption_id)
union all
select f.coupon_id -- a redemption at a till that has not ended and has no lease
from redeem_flow f
left join mine c on c.coupon_id = f.coupon_id and c.state = 'LOCKED' and c.lease_id = f.lease_id
where f.coupon_id >= $1::text and ($2::text = '' or f.coupon_id < $2::text) and f.stage = 0 and c.coupon_id is null
  and not exists (select from redeem_flow e where e.redeem_no = f.redeem_no and e.stage = 1)

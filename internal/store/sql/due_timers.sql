-- One page of timers that were due a while ago, in the order of their key, and of each
-- whether its lease is the current one of its coupon.
with due as (
    select t.due_at, t.lease_id, t.version, t.coupon_id
    from lease_timer t
    where t.due_at >= $1 and (t.due_at, t.lease_id, t.version) > ($1, $2::uuid, $3::bigint)
      and t.due_at <= now() - $4 * interval '1 microsecond'
      and (hashtextextended(t.coupon_id, 0) & 9223372036854775807) % $5::bigint = $6::bigint
    order by t.due_at, t.lease_id, t.version
    limit $7
)
select due.due_at, due.lease_id, due.version, due.coupon_id, c.lease_order_id, c.lease_token_hash,
       coalesce(c.state = 'LOCKED' and c.lease_id = due.lease_id and c.lease_version = due.version, false)
from due left join user_coupon c on c.coupon_id = due.coupon_id
order by due.due_at, due.lease_id, due.version

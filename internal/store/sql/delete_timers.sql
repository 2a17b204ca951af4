-- Timers outside the daily partitions, once they are over and nobody holds their lease.
with over as (
    select t.due_at, t.lease_id, t.version, t.far
    from lease_timer t
    where t.due_at < $1
      and not exists (
          select from user_coupon c
          where c.coupon_id = t.coupon_id and c.state = 'LOCKED' and c.lease_id = t.lease_id
            and c.lease_version = t.version
      )
      and (t.far or t.tableoid = 'lease_timer_near_default'::regclass)
    limit $2
)
delete from lease_timer t
using over
where t.due_at = over.due_at and t.lease_id = over.lease_id and t.version = over.version and t.far = over.far

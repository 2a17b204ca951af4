-- How many of the timers that were due last, before a while ago, still have their lease.
-- The limit inside makes it a look by key for each, however many coupons there are.
select count(*)
from (
    select t.coupon_id, t.lease_id, t.version
    from lease_timer t
    where t.due_at <= now() - $1 * interval '1 microsecond'
    order by t.due_at desc
    limit $2
) due
cross join lateral (
    select 1
    from user_coupon c
    where c.coupon_id = due.coupon_id and c.lease_id = due.lease_id and c.lease_version = due.version and c.state = 'LOCKED'
    limit 1
) held

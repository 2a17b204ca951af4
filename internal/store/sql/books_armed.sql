-- Those of the coupons whose lease has a timer.
select c.coupon_id
from user_coupon c
where c.coupon_id = any ($1::text[]) and c.state = 'LOCKED'
  and exists (select from lease_timer t
              where t.due_at = c.lease_deadline and t.lease_id = c.lease_id and t.version = c.lease_version)

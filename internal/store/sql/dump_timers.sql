select t.due_at, t.lease_id, t.version, t.coupon_id, l.order_id, l.token_hash
from lease_timer t join coupon_lock l on l.coupon_id = t.coupon_id and l.version = t.version
order by t.due_at, t.lease_id, t.version

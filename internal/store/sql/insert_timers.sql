insert into lease_timer (due_at, version, lease_id, far, coupon_id)
select n.due_at, n.version, n.lease_id, n.far, n.coupon_id
from unnest($1::timestamptz[], $2::bigint[], $3::uuid[], $4::boolean[], $5::text[])
    as n (due_at, version, lease_id, far, coupon_id)

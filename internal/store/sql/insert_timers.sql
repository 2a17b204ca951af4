insert into lease_timer (due_at, version, lease_id, far, coupon_id)
select n.due_at, n.version, n.lease_id, n.far, n.coupon_id
from (
    select unnest($1::timestamptz[]) as due_at, unnest($2::bigint[]) as version, unnest($3::uuid[]) as lease_id,
        unnest($4::boolean[]) as far, unnest($5::text[]) as coupon_id
) as n

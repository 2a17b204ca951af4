insert into coupon_lock (
    coupon_id, version, generation, acquired_version, deadline, granted_at, lease_id, operation_id, order_id,
    token_hash, purpose, renewal
)
select n.coupon_id, n.version, n.generation, n.acquired_version, n.deadline, n.granted_at, n.lease_id,
       n.operation_id, n.order_id, n.token_hash, n.purpose, n.renewal
from (
    select unnest($1::text[]) as coupon_id, unnest($2::bigint[]) as version, unnest($3::bigint[]) as generation,
        unnest($4::bigint[]) as acquired_version, unnest($5::timestamptz[]) as deadline,
        unnest($6::timestamptz[]) as granted_at, unnest($7::uuid[]) as lease_id, unnest($8::uuid[]) as operation_id,
        unnest($9::text[]) as order_id, unnest($10::bytea[]) as token_hash, unnest($11::text[]) as purpose,
        unnest($12::boolean[]) as renewal
) as n

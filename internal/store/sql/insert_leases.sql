insert into coupon_lock (
    coupon_id, version, generation, acquired_version, deadline, granted_at, lease_id, operation_id, order_id,
    token_hash, purpose, renewal
)
select n.coupon_id, n.version, n.generation, n.acquired_version, n.deadline, n.granted_at, n.lease_id,
       n.operation_id, n.order_id, n.token_hash, n.purpose, n.renewal
from unnest(
    $1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::timestamptz[], $6::timestamptz[], $7::uuid[], $8::uuid[],
    $9::text[], $10::bytea[], $11::text[], $12::boolean[]
) as n (
    coupon_id, version, generation, acquired_version, deadline, granted_at, lease_id, operation_id, order_id,
    token_hash, purpose, renewal
)

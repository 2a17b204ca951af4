with lease as (
    select l.shard from outbox_lease l where l.shard = $1 and l.fence = $2 for share
), done as (
    update coupon_outbox o
    set parked_at = clock_timestamp(), parked_reason = n.reason, parks = o.parks + 1,
        payload = coalesce(n.payload, o.payload)
    from lease, unnest($3::bigint[], $4::text[], $5::text[]) as n (id, payload, reason)
    where o.shard = lease.shard and o.id = n.id and o.parked_at is null
    returning 1
)
select exists (select from lease), (select count(*) from done)

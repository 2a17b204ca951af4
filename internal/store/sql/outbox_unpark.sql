with lease as (
    select l.shard from outbox_lease l where l.shard = $1 and l.fence = $2 for share
), rested as (
    select o.shard, o.id
    from coupon_outbox o join lease on lease.shard = o.shard
    where o.parked_at <= now() - $3 * interval '1 microsecond'
    order by o.parked_at, o.id
    limit $4
), done as (
    update coupon_outbox o
    set parked_at = null, parked_reason = null
    from rested
    where o.shard = rested.shard and o.id = rested.id
    returning 1
)
select exists (select from lease), (select count(*) from done)

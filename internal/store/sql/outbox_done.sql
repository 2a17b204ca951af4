-- The lock on the lease row makes a takeover wait, or this statement see it.
with lease as (
    select l.shard from outbox_lease l where l.shard = $1 and l.fence = $2 for share
), done as (
    delete from coupon_outbox o
    using lease
    where o.shard = lease.shard and o.id = any ($3::bigint[])
    returning 1
)
select exists (select from lease), (select count(*) from done)
where set_config('synchronous_commit', 'off', true) = 'off'

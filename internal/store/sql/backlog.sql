-- The oldest row is the one that the gate looks at: what was put aside has its own figure.
with recursive heads as (
    (select shard, created_at
     from coupon_outbox
     where parked_at is null
     order by shard, id
     limit 1)
    union all
    select next.shard, next.created_at
    from heads h
    cross join lateral (
        select o.shard, o.created_at
        from coupon_outbox o
        where o.parked_at is null and o.shard > h.shard
        order by o.shard, o.id
        limit 1
    ) next
)
select (select count(*) from coupon_outbox where parked_at is null),
       (select coalesce(sum(messages), 0) from coupon_outbox where parked_at is null),
       (select count(*) from coupon_outbox where parked_at is not null),
       (select min(created_at) from heads),
       (select count(*) from review_case where resolved_at is null)

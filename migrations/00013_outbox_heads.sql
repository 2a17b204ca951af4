-- +goose Up

-- The oldest row of each shard that waits to be published: the lowest ids, one step of the index for each shard that
-- has any. Within a shard rows come in the order of time. What was put aside has its own figure.
create view coupon_outbox_head as
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
select shard, created_at from heads;

-- +goose Down
drop view coupon_outbox_head;

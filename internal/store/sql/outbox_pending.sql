-- The lowest ids, whenever they were committed: there is no cursor that a late commit
-- could slip below. Sizes are summed before any payload is fetched.
select o.id, o.parks, o.created_at, o.payload
from outbox_lease l
left join lateral (
    select sized.id, sized.parks, sized.created_at, sized.payload
    from (
        select p.id, p.parks, p.created_at, p.payload,
               sum(octet_length(p.payload)) over (order by p.id) - octet_length(p.payload) as starts_at
        from (
            select c.id, c.parks, c.created_at, c.payload
            from coupon_outbox c
            where c.shard = $1 and c.parked_at is null and c.id <> all ($3::bigint[])
            order by c.id
            limit $4
        ) p
    ) sized
    where sized.starts_at < $5
) o on true
where l.shard = $1 and l.fence = $2
order by o.id

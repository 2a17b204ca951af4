-- A lease that is free or over gets a greater fence, its owner extends it and keeps
-- the fence. Nobody else gets a row.
insert into outbox_lease as l (shard, owner, fence, expires_at)
values ($1, $2, 1, clock_timestamp() + $3 * interval '1 microsecond')
on conflict (shard) do update
set owner = excluded.owner,
    fence = case when l.expires_at > clock_timestamp() then l.fence else l.fence + 1 end,
    expires_at = excluded.expires_at
where l.owner = excluded.owner or l.expires_at <= clock_timestamp()
returning fence

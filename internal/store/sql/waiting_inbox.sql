-- How many messages the inbox remembers, and the oldest of its days that has some. The
-- counts are PostgreSQL's estimates, so that nothing is read through.
select coalesce(sum(rows), 0)::bigint, coalesce(min(name) filter (where rows > 0 and name ~ '_[0-9]{8}$'), '')
from (
    select child.relname::text as name, pg_stat_get_live_tuples(child.oid) as rows
    from pg_inherits i
    join pg_class child on child.oid = i.inhrelid
    where i.inhparent = 'inbox'::regclass
) partition

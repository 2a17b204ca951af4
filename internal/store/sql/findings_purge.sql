-- Some findings that have been closed for so many days.
with old as (
    select f.finding_id
    from finding f
    where f.closed_at < clock_timestamp() - $1 * interval '1 day'
    order by f.finding_id
    limit $2
    for update of f skip locked
), findings as (
    delete from finding f using old where f.finding_id = old.finding_id returning 1
)
select count(*) from findings

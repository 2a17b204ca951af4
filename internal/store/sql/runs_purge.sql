-- Some runs of reconciliation that began so many days ago. The last one that was finished
-- stays, of each set of faults: it says when they were looked for.
with old as (
    select r.run_id
    from reconcile_run r
    where r.started_at < clock_timestamp() - $1 * interval '1 day'
      and (r.finished_at is null
           or exists (select from reconcile_run l where l.finished_at > r.finished_at and l.faults @> r.faults))
    order by r.run_id
    limit $2
    for update of r skip locked
), runs as (
    delete from reconcile_run r using old where r.run_id = old.run_id returning 1
)
select count(*) from runs

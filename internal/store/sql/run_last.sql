-- The last run that was finished.
select run_id, actor, faults, started_at, finished_at, coupons, orders, found, opened, closed, repaired
from reconcile_run
where finished_at is not null and $1::text = any (faults)
order by finished_at desc
limit 1

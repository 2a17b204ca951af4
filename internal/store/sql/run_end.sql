update reconcile_run
set finished_at = clock_timestamp(), coupons = $2, orders = $3, found = $4, opened = $5, closed = $6, repaired = $7
where run_id = $1

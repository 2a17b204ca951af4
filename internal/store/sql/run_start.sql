insert into reconcile_run (run_id, actor, faults) values ($1, $2, $3::text[])

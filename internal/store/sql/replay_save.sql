update replay_job
set status = case when $2 in ('RUNNING', 'PAUSED') and settled = total then 'DONE' else $2 end,
    paused_for = $3, canary = $4, forgiven = $5, sent = $6, paid_until = $7, updated_at = clock_timestamp()
where replay_job_id = $1

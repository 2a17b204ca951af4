insert into replay_job (replay_job_id, status, filter, rate_limit, canary, stop_on_failures, total, actor, reason)
values ($1, 'RUNNING', $2::jsonb, $3, $4, $5, $6, $7, $8)

select j.replay_job_id, j.status, j.paused_for, j.filter, j.rate_limit, j.canary, j.stop_on_failures, j.forgiven, j.total,
       j.sent, j.settled, j.failed, j.paid_until, j.actor, j.reason, j.created_at, j.updated_at,
       clock_timestamp()
from replay_job j
where j.replay_job_id = $1
for update

select a.failed_at, a.filed_at, a.attempts, a.reason, a.error, a.host, a.service_version, a.replay_job_id
from dead_letter_attempt a
where a.dead_letter_id = $1
order by a.failed_at, a.source
limit $2

select i.outcome, count(*), min(i.sent_at)
from replay_item i
where i.replay_job_id = $1 and (i.sent_at is not null or i.outcome <> '')
group by i.outcome

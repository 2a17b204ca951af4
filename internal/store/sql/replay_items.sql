select i.position, i.dead_letter_id, i.outcome, i.detail, i.sent_at, i.settled_at
from replay_item i
where i.replay_job_id = $1 and i.position > $2 and ($3 = '' or i.outcome = $3)
order by i.position
limit $4

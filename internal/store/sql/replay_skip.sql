-- Letters that an aborted job had not come to are anybody's again.
with items as (
    update replay_item i
    set outcome = 'SKIPPED', settled_at = clock_timestamp()
    where i.replay_job_id = $1 and i.sent_at is null and i.outcome = ''
    returning i.dead_letter_id
)
update dead_letter d
set replay_job_id = null
from items i
where d.dead_letter_id = i.dead_letter_id and d.replay_job_id = $1

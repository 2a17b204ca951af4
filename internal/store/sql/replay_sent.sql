with items as (
    update replay_item i
    set sent_at = clock_timestamp()
    where i.replay_job_id = $1 and i.position > $2 and i.position <= $3
    returning i.dead_letter_id
)
update dead_letter d
set status = 'REPLAYED', outcome = '', changed_at = clock_timestamp()
from items i
where d.dead_letter_id = i.dead_letter_id

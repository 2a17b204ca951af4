-- The letters of an aborted job are anybody's again. Those that were sent are new, for
-- nobody will tell what came of them: if they are applied all the same, replaying them
-- once more has no effect.
with items as (
    update replay_item i
    set outcome = 'SKIPPED', settled_at = clock_timestamp(),
        detail = case when i.sent_at is null then 'not sent' else 'sent, and aborted before the outcome was known' end
    where i.replay_job_id = $1 and i.outcome = ''
    returning i.dead_letter_id
)
update dead_letter d
set replay_job_id = null, status = case when d.status = 'REPLAYED' then 'NEW' else d.status end,
    changed_at = clock_timestamp()
from items i
where d.dead_letter_id = i.dead_letter_id and d.replay_job_id = $1

-- Outcomes of replayed letters. What was repeated, but was answered after the letter had
-- been sent, was answered by this replay: its message came twice.
with told as (
    select unnest($1::uuid[]) as replay_job_id, unnest($2::bigint[]) as position, unnest($3::text[]) as message_id,
        unnest($4::text[]) as outcome, unnest($5::text[]) as detail, unnest($6::timestamptz[]) as answered_at
), known as (
    select distinct on (i.replay_job_id, i.position) i.replay_job_id, i.position, d.dead_letter_id,
           case when t.outcome = 'DUPLICATE' and (
                    exists (select from inbox r where r.message_id = t.message_id and r.done_at >= i.sent_at)
                    or t.answered_at >= i.sent_at)
                then 'APPLIED' else t.outcome end as outcome,
           t.detail
    from told t
    join replay_item i on i.replay_job_id = t.replay_job_id and i.position = t.position
    join dead_letter d on d.dead_letter_id = i.dead_letter_id and d.message_id = t.message_id
    where i.outcome = '' and i.sent_at is not null
    order by i.replay_job_id, i.position
), items as (
    update replay_item i
    set outcome = k.outcome, detail = left(k.detail, 1000), settled_at = clock_timestamp()
    from known k
    where i.replay_job_id = k.replay_job_id and i.position = k.position
    returning i.replay_job_id, i.dead_letter_id, i.outcome
), letters as (
    update dead_letter d
    set status = case when i.outcome in ('FAILED_AGAIN', 'SKIPPED') then 'NEW' else 'RESOLVED' end,
        outcome = i.outcome, replay_job_id = null, changed_at = clock_timestamp()
    from items i
    where d.dead_letter_id = i.dead_letter_id and d.replay_job_id = i.replay_job_id
    returning d.edited_from_id, d.status
), originals as (
    update dead_letter d
    set status = 'RESOLVED', outcome = 'EDITED', changed_at = clock_timestamp()
    from letters l
    where d.dead_letter_id = l.edited_from_id and l.status = 'RESOLVED' and d.status = 'EDITED'
    returning 1
), settled as (
    select i.replay_job_id, count(*) as items, count(*) filter (where i.outcome = 'FAILED_AGAIN') as failed
    from items i
    group by i.replay_job_id
)
update replay_job j
set settled = j.settled + s.items, failed = j.failed + s.failed, updated_at = clock_timestamp(),
    status = case when j.status in ('RUNNING', 'PAUSED') and j.settled + s.items = j.total
                  then 'DONE' else j.status end
from settled s
where j.replay_job_id = s.replay_job_id

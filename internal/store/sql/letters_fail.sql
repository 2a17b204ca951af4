-- Adds failures to their letters. One that was filed before changes nothing, however
-- much has happened to its letter since. A letter that a job has sent waits for the
-- failure of that job's message, and is not disturbed by another one.
with told as (
    select unnest($1::text[]) as message_id, unnest($2::text[]) as queue, unnest($3::bytea[]) as body_hash,
        unnest($4::timestamptz[]) as failed_at, unnest($5::text[]) as source, unnest($6::bigint[]) as attempts,
        unnest($7::text[]) as reason, unnest($8::text[]) as error, unnest($9::text[]) as fingerprint,
        unnest($10::text[]) as host, unnest($11::text[]) as service_version, unnest($12::uuid[]) as replay_job_id,
        unnest($13::bigint[]) as position
), known as (
    select distinct on (d.dead_letter_id, coalesce(t.failed_at, d.last_failed_at), t.source)
           d.dead_letter_id, coalesce(t.failed_at, d.last_failed_at) as failed_at, t.source, t.attempts, t.reason,
           t.error, t.fingerprint, t.host, t.service_version, t.replay_job_id, t.position
    from told t
    join dead_letter d on d.message_id = t.message_id and d.queue = t.queue and d.body_hash = t.body_hash
    order by d.dead_letter_id, coalesce(t.failed_at, d.last_failed_at), t.source
), fresh as (
    insert into dead_letter_attempt (dead_letter_id, failed_at, source, attempts, reason, error, host,
        service_version, replay_job_id)
    select k.dead_letter_id, k.failed_at, k.source, k.attempts, k.reason, left(k.error, 1000), k.host,
           k.service_version, k.replay_job_id
    from known k
    on conflict (dead_letter_id, failed_at, source) do nothing
    returning dead_letter_id, failed_at, source
), failed as (
    select distinct on (k.dead_letter_id) k.dead_letter_id, k.failed_at, k.attempts, k.reason, k.error,
           k.fingerprint, k.host, k.service_version, k.replay_job_id,
           count(*) over (partition by k.dead_letter_id) as failures
    from known k
    join fresh f on f.dead_letter_id = k.dead_letter_id and f.failed_at = k.failed_at and f.source = k.source
    order by k.dead_letter_id, k.failed_at desc
), letters as (
    update dead_letter d
    set failures = d.failures + f.failures, reason = f.reason, error = f.error, fingerprint = f.fingerprint,
        host = f.host, service_version = f.service_version, attempts = f.attempts,
        last_failed_at = greatest(d.last_failed_at, f.failed_at),
        status = case when d.status in ('REPLAYED', 'EDITED') and f.replay_job_id is distinct from d.replay_job_id
                      then d.status else 'NEW' end,
        outcome = case when f.replay_job_id is not null then 'FAILED_AGAIN' else '' end,
        replay_job_id = case when f.replay_job_id = d.replay_job_id then null else d.replay_job_id end,
        changed_at = clock_timestamp()
    from failed f
    where d.dead_letter_id = f.dead_letter_id
    returning 1
), items as (
    update replay_item i
    set outcome = 'FAILED_AGAIN', detail = left(k.reason || ': ' || k.error, 1000), settled_at = clock_timestamp()
    from known k
    join fresh f on f.dead_letter_id = k.dead_letter_id and f.failed_at = k.failed_at and f.source = k.source
    where i.replay_job_id = k.replay_job_id and i.position = k.position and i.dead_letter_id = k.dead_letter_id
      and i.outcome = '' and i.sent_at is not null
    returning i.replay_job_id
), settled as (
    select i.replay_job_id, count(*) as items from items i group by i.replay_job_id
)
update replay_job j
set settled = j.settled + s.items, failed = j.failed + s.items, updated_at = clock_timestamp(),
    status = case when j.status in ('RUNNING', 'PAUSED') and j.settled + s.items = j.total
                  then 'DONE' else j.status end
from settled s
where j.replay_job_id = s.replay_job_id

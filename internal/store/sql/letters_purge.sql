-- Some letters that nobody has to look at, and have not been touched for so many days.
with old as (
    select d.dead_letter_id
    from dead_letter d
    where d.status in ('RESOLVED', 'DISCARDED') and d.replay_job_id is null
      and d.changed_at < clock_timestamp() - $1 * interval '1 day'
    order by d.dead_letter_id
    limit $2
    for update of d skip locked
), attempts as (
    delete from dead_letter_attempt a using old where a.dead_letter_id = old.dead_letter_id
), letters as (
    delete from dead_letter d using old where d.dead_letter_id = old.dead_letter_id returning 1
)
select count(*) from letters

-- Some items of replays that are over, and have not been touched for so many days. A job
-- goes when it has none left.
with old as (
    select j.replay_job_id
    from replay_job j
    where j.status in ('DONE', 'ABORTED') and j.updated_at < clock_timestamp() - $1 * interval '1 day'
    order by j.replay_job_id
    limit 1
    for update of j skip locked
), page as (
    select i.replay_job_id, i.position
    from replay_item i join old on old.replay_job_id = i.replay_job_id
    order by i.replay_job_id, i.position
    limit $2
), items as (
    delete from replay_item i using page where i.replay_job_id = page.replay_job_id and i.position = page.position
), jobs as (
    delete from replay_job j using old
    where j.replay_job_id = old.replay_job_id and not exists (select from page)
    returning 1
)
select (select count(*) from page) + (select count(*) from jobs)

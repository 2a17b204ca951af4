-- One page of letters becomes part of a job, unless another job has them already.
with page as (
    select d.dead_letter_id
    from dead_letter d
    where ($1::uuid is null or d.dead_letter_id > $1) and dead_letter_matches(d, $2::jsonb)
      and ($3::uuid[] is null or d.dead_letter_id = any ($3))
      and d.status = any ($5::text[]) and d.replay_job_id is null and d.filed_at <= $6
      and d.body_size = octet_length(d.body)
    order by d.dead_letter_id
    limit $4
    for update of d
), items as (
    insert into replay_item (replay_job_id, position, dead_letter_id)
    select $7, $8 + row_number() over (order by p.dead_letter_id), p.dead_letter_id
    from page p
), letters as (
    update dead_letter d
    set replay_job_id = $7
    from page p
    where d.dead_letter_id = p.dead_letter_id
    returning d.dead_letter_id
)
select count(*), (select p.dead_letter_id from page p order by p.dead_letter_id desc limit 1) from letters

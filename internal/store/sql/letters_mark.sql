-- One page of letters that nobody is replaying gets another status. Their ids are told,
-- one a line, and how many had which status before. A letter that was
-- edited comes back only when the letter that stands for it was discarded.
with page as (
    select d.dead_letter_id, d.status
    from dead_letter d
    where ($1::uuid is null or d.dead_letter_id > $1) and dead_letter_matches(d, $2::jsonb)
      and ($3::uuid[] is null or d.dead_letter_id = any ($3))
      and d.status = any ($5::text[]) and d.replay_job_id is null
      and (d.status <> 'EDITED' or not exists (
              select from dead_letter e where e.edited_from_id = d.dead_letter_id and e.status <> 'DISCARDED'))
    order by d.dead_letter_id
    limit $4
    for update of d
), letters as (
    update dead_letter d
    set status = $6, outcome = $7, changed_at = clock_timestamp()
    from page p
    where d.dead_letter_id = p.dead_letter_id
    returning d.dead_letter_id, p.status
)
select count(*), (select p.dead_letter_id from page p order by p.dead_letter_id desc limit 1),
       coalesce(string_agg(l.dead_letter_id::text || E'\n', '' order by l.dead_letter_id), ''),
       (select coalesce(jsonb_object_agg(s.status, s.letters), '{}')
        from (select m.status, count(*) as letters from letters m group by m.status) s)
from letters l

select g.fingerprint, d.kind, d.reason, left(d.error, 300), g.sample, g.letters, g.first_failed_at, g.last_failed_at
from (
    select d.fingerprint, count(*) as letters, min(d.first_failed_at) as first_failed_at,
           max(d.last_failed_at) as last_failed_at, (array_agg(d.dead_letter_id order by d.dead_letter_id desc))[1] as sample
    from dead_letter d
    where dead_letter_matches(d, $1::jsonb) and ($2::uuid[] is null or d.dead_letter_id = any ($2))
    group by d.fingerprint
    order by letters desc, d.fingerprint
    limit $3
) g
join dead_letter d on d.dead_letter_id = g.sample
order by g.letters desc, g.fingerprint

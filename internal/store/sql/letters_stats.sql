select d.status, d.kind, d.reason, count(*), min(d.first_failed_at), max(d.last_failed_at)
from dead_letter d
where dead_letter_matches(d, $1::jsonb) and ($2::uuid[] is null or d.dead_letter_id = any ($2))
group by d.status, d.kind, d.reason
order by count(*) desc, d.status, d.kind, d.reason

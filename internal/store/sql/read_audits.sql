-- Newest first, from the row before the last one of the page before.
select audit_id, at, actor, action, subject, coupons, reason, outcome, count, detail
from audit_log
where ($1::bigint = 0 or audit_id < $1::bigint)
  and ($2::text = '' or actor = $2::text)
  and ($3::text = '' or coupons @> array[$3::text collate "C"])
  and ($4::text = '' or action = $4::text)
  and ($5::timestamptz is null or at >= $5::timestamptz)
  and ($6::timestamptz is null or at < $6::timestamptz)
order by audit_id desc
limit $7

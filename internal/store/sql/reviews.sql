-- Our ids are UUIDv7: their order is that of time.
select review_id, order_id, coupon_id, reason, suggestion, cause_id, opened_at, resolved_at, resolution, resolved_by, note,
    evidence
from review_case
where review_id > $1
  and ($2::text = '' or order_id = $2::text)
  and ($3::text = '' or coupon_id = $3::text)
  and ($4::text = '' or reason = $4::text)
  and (not $5::boolean or resolved_at is null)
order by review_id
limit $6

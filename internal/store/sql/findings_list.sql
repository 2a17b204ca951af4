-- Our ids are UUIDv7: their order is that of time.
select finding_id, fault, severity, subject, order_id, coupon_id, template_id, detail, first_seen_at, last_seen_at,
       closed_at, seen, repair
from finding
where finding_id > $1::uuid
  and ($2::text = '' or fault = $2::text)
  and ($3::text = '' or severity = $3::text)
  and ($4::uuid is null or run_id = $4::uuid)
  and ($5::text = '' or order_id = $5::text)
  and ($6::text = '' or coupon_id = $6::text)
  and (not $7::boolean or closed_at is null)
  and ($8::uuid is null or finding_id = $8::uuid)
order by finding_id
limit $9

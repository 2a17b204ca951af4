-- Cases of the coupon, and cases of whole orders that named it.
select review_id, order_id, coupon_id, reason, suggestion, cause_id, opened_at, resolved_at, resolution, resolved_by, note,
    evidence
from review_case
where coupon_id = $1::text or (order_id = any ($2::text[]) and coupon_id = '')
order by review_id
limit $3

-- Cases that are being decided. Whoever decides holds the lock of their order.
select review_id, order_id, coupon_id, reason, suggestion, cause_id, opened_at, resolved_at, resolution, resolved_by, note,
    evidence
from review_case
where review_id = any ($1::uuid[])

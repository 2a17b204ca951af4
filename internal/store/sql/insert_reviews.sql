insert into review_case (review_id, opened_at, order_id, coupon_id, reason, suggestion, cause_id)
select n.review_id, n.opened_at, n.order_id, n.coupon_id, n.reason, n.suggestion, n.cause_id
from unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
    as n (review_id, opened_at, order_id, coupon_id, reason, suggestion, cause_id)

insert into review_case (review_id, opened_at, order_id, coupon_id, reason, suggestion, cause_id, evidence)
select n.review_id, n.opened_at, n.order_id, n.coupon_id, n.reason, n.suggestion, n.cause_id, n.evidence
from (
    select unnest($1::uuid[]) as review_id, unnest($2::timestamptz[]) as opened_at, unnest($3::text[]) as order_id,
        unnest($4::text[]) as coupon_id, unnest($5::text[]) as reason, unnest($6::text[]) as suggestion,
        unnest($7::text[]) as cause_id, unnest($8::text[])::jsonb as evidence
) as n

insert into redeem_flow (
    redeem_no, stage, at, lease_id, operation_id, request_id, step, coupon_id, code, reason, payment_id, cause_id
)
select n.redeem_no, n.stage, n.at, n.lease_id, n.operation_id, n.request_id, n.step, n.coupon_id, n.code, n.reason,
       n.payment_id, n.cause_id
from (
    select unnest($1::text[]) as redeem_no, unnest($2::int[]) as stage, unnest($3::timestamptz[]) as at,
        unnest($4::uuid[]) as lease_id, unnest($5::uuid[]) as operation_id, unnest($6::text[]) as request_id,
        unnest($7::text[]) as step, unnest($8::text[]) as coupon_id, unnest($9::text[]) as code,
        unnest($10::text[]) as reason, unnest($11::text[]) as payment_id, unnest($12::text[]) as cause_id
) as n

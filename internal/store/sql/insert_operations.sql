insert into coupon_operation (
    coupon_id, to_version, from_version, policy_version, valid_until, at, operation_id, lease_id, redemption_id,
    original_id, operation, from_state, to_state, reason, order_id, payment_id, refund_id, cause_id, actor,
    business_key, request_hash
)
select n.coupon_id, n.to_version, n.from_version, n.policy_version, n.valid_until, n.at, n.operation_id, n.lease_id,
       n.redemption_id, n.original_id, n.operation, n.from_state, n.to_state, n.reason, n.order_id, n.payment_id,
       n.refund_id, n.cause_id, n.actor, n.business_key, n.request_hash
from (
    select unnest($1::text[]) as coupon_id, unnest($2::bigint[]) as to_version, unnest($3::bigint[]) as from_version,
        unnest($4::bigint[]) as policy_version, unnest($5::timestamptz[]) as valid_until,
        unnest($6::timestamptz[]) as at, unnest($7::uuid[]) as operation_id, unnest($8::uuid[]) as lease_id,
        unnest($9::uuid[]) as redemption_id, unnest($10::uuid[]) as original_id, unnest($11::text[]) as operation,
        unnest($12::text[]) as from_state, unnest($13::text[]) as to_state, unnest($14::text[]) as reason,
        unnest($15::text[]) as order_id, unnest($16::text[]) as payment_id, unnest($17::text[]) as refund_id,
        unnest($18::text[]) as cause_id, unnest($19::text[]) as actor, unnest($20::text[]) as business_key,
        unnest($21::bytea[]) as request_hash
) as n

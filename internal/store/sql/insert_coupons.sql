insert into user_coupon (
    coupon_id, code, template_id, owner_id, batch_id, valid_from, issued_until, policy_version,
    origin, claim_no, template_version, state, version, valid_until, leases, cycle, voided_from,
    lease_id, lease_generation, lease_order_id, lease_token_hash, lease_purpose, lease_deadline,
    lease_acquired_version, lease_version,
    redemption_id, redemption_cycle, redemption_order_id, redemption_payment_id, redemption_lease_id,
    redemption_operation_id, redemption_policy_version
)
select n.coupon_id, n.code, n.template_id, n.owner_id, n.batch_id, n.valid_from, n.valid_until, n.policy_version,
       n.origin, n.claim_no, n.template_version, n.state, n.version, n.valid_until, n.leases, n.cycle, n.voided_from,
       n.lease_id, n.lease_generation, n.lease_order_id, n.lease_token_hash, n.lease_purpose, n.lease_deadline,
       n.lease_acquired_version, n.lease_version,
       n.redemption_id, n.redemption_cycle, n.redemption_order_id, n.redemption_payment_id,
       n.redemption_lease_id, n.redemption_operation_id, n.redemption_policy_version
from (
    select unnest($1::text[]) as coupon_id, unnest($2::text[]) as code, unnest($3::text[]) as template_id,
        unnest($4::text[]) as owner_id, unnest($5::text[]) as batch_id, unnest($6::timestamptz[]) as valid_from,
        unnest($7::bigint[]) as policy_version, unnest($8::text[]) as origin,
        unnest($9::bigint[]) as claim_no, unnest($10::bigint[]) as template_version,
        unnest($11::text[]) as state, unnest($12::bigint[]) as version,
        unnest($13::timestamptz[]) as valid_until, unnest($14::bigint[]) as leases, unnest($15::bigint[]) as cycle,
        unnest($16::text[]) as voided_from, unnest($17::uuid[]) as lease_id,
        unnest($18::bigint[]) as lease_generation, unnest($19::text[]) as lease_order_id,
        unnest($20::bytea[]) as lease_token_hash, unnest($21::text[]) as lease_purpose,
        unnest($22::timestamptz[]) as lease_deadline, unnest($23::bigint[]) as lease_acquired_version,
        unnest($24::bigint[]) as lease_version, unnest($25::uuid[]) as redemption_id,
        unnest($26::bigint[]) as redemption_cycle, unnest($27::text[]) as redemption_order_id,
        unnest($28::text[]) as redemption_payment_id, unnest($29::uuid[]) as redemption_lease_id,
        unnest($30::uuid[]) as redemption_operation_id, unnest($31::bigint[]) as redemption_policy_version,
        generate_subscripts($1::text[], 1) as position
) as n
order by n.position

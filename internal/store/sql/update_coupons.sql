-- The compare-and-set. The rows are locked, so a version that differs means that
-- somebody wrote around the engine.
with done as (
    update user_coupon c
    set state = n.state, version = n.version, valid_until = n.valid_until, leases = n.leases, cycle = n.cycle,
        voided_from = n.voided_from,
        lease_id = n.lease_id, lease_generation = n.lease_generation, lease_order_id = n.lease_order_id,
        lease_token_hash = n.lease_token_hash, lease_purpose = n.lease_purpose, lease_deadline = n.lease_deadline,
        lease_acquired_version = n.lease_acquired_version, lease_version = n.lease_version,
        redemption_id = n.redemption_id, redemption_cycle = n.redemption_cycle,
        redemption_order_id = n.redemption_order_id, redemption_payment_id = n.redemption_payment_id,
        redemption_lease_id = n.redemption_lease_id, redemption_operation_id = n.redemption_operation_id,
        redemption_policy_version = n.redemption_policy_version
    from (
        select unnest($1::text[]) as coupon_id, unnest($2::bigint[]) as base, unnest($3::text[]) as state,
            unnest($4::bigint[]) as version, unnest($5::timestamptz[]) as valid_until, unnest($6::bigint[]) as leases,
            unnest($7::bigint[]) as cycle, unnest($8::text[]) as voided_from, unnest($9::uuid[]) as lease_id,
            unnest($10::bigint[]) as lease_generation, unnest($11::text[]) as lease_order_id,
            unnest($12::bytea[]) as lease_token_hash, unnest($13::text[]) as lease_purpose,
            unnest($14::timestamptz[]) as lease_deadline, unnest($15::bigint[]) as lease_acquired_version,
            unnest($16::bigint[]) as lease_version, unnest($17::uuid[]) as redemption_id,
            unnest($18::bigint[]) as redemption_cycle, unnest($19::text[]) as redemption_order_id,
            unnest($20::text[]) as redemption_payment_id, unnest($21::uuid[]) as redemption_lease_id,
            unnest($22::uuid[]) as redemption_operation_id, unnest($23::bigint[]) as redemption_policy_version
    ) as n
    where c.coupon_id = n.coupon_id and c.version = n.base
    returning 1
)
select expect_rows('compare-and-set of user_coupon', count(*), cardinality($1::text[])) from done

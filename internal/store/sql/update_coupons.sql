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
    from unnest(
        $1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::timestamptz[], $6::bigint[], $7::bigint[], $8::text[],
        $9::uuid[], $10::bigint[], $11::text[], $12::bytea[], $13::text[], $14::timestamptz[], $15::bigint[],
        $16::bigint[],
        $17::uuid[], $18::bigint[], $19::text[], $20::text[], $21::uuid[], $22::uuid[], $23::bigint[]
    ) as n (
        coupon_id, base, state, version, valid_until, leases, cycle, voided_from,
        lease_id, lease_generation, lease_order_id, lease_token_hash, lease_purpose, lease_deadline,
        lease_acquired_version, lease_version,
        redemption_id, redemption_cycle, redemption_order_id, redemption_payment_id, redemption_lease_id,
        redemption_operation_id, redemption_policy_version
    )
    where c.coupon_id = n.coupon_id and c.version = n.base
    returning 1
)
select expect_rows('compare-and-set of user_coupon', count(*), cardinality($1::text[])) from done

insert into user_coupon (
    coupon_id, code, template_id, owner_id, batch_id, valid_from, issued_until, policy_version,
    state, version, valid_until, leases, cycle, voided_from,
    lease_id, lease_generation, lease_order_id, lease_token_hash, lease_purpose, lease_deadline,
    lease_acquired_version, lease_version,
    redemption_id, redemption_cycle, redemption_order_id, redemption_payment_id, redemption_lease_id,
    redemption_operation_id, redemption_policy_version
)
select n.coupon_id, n.code, n.template_id, n.owner_id, n.batch_id, n.valid_from, n.valid_until, n.policy_version,
       n.state, n.version, n.valid_until, n.leases, n.cycle, n.voided_from,
       n.lease_id, n.lease_generation, n.lease_order_id, n.lease_token_hash, n.lease_purpose, n.lease_deadline,
       n.lease_acquired_version, n.lease_version,
       n.redemption_id, n.redemption_cycle, n.redemption_order_id, n.redemption_payment_id,
       n.redemption_lease_id, n.redemption_operation_id, n.redemption_policy_version
from unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::bigint[],
    $8::text[], $9::bigint[], $10::timestamptz[], $11::bigint[], $12::bigint[], $13::text[],
    $14::uuid[], $15::bigint[], $16::text[], $17::bytea[], $18::text[], $19::timestamptz[], $20::bigint[],
    $21::bigint[],
    $22::uuid[], $23::bigint[], $24::text[], $25::text[], $26::uuid[], $27::uuid[], $28::bigint[]
) with ordinality as n (
    coupon_id, code, template_id, owner_id, batch_id, valid_from, policy_version,
    state, version, valid_until, leases, cycle, voided_from,
    lease_id, lease_generation, lease_order_id, lease_token_hash, lease_purpose, lease_deadline,
    lease_acquired_version, lease_version,
    redemption_id, redemption_cycle, redemption_order_id, redemption_payment_id, redemption_lease_id,
    redemption_operation_id, redemption_policy_version, position
)
order by n.position

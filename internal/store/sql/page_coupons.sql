select coupon_id, code, template_id, owner_id, batch_id, state, version, valid_from, valid_until, policy_version,
       leases, cycle, voided_from, origin, claim_no, template_version,
       lease_id, lease_generation, lease_order_id, lease_token_hash, lease_purpose, lease_deadline,
       lease_acquired_version, lease_version,
       redemption_id, redemption_cycle, redemption_order_id, redemption_payment_id, redemption_lease_id,
       redemption_operation_id, redemption_policy_version
from user_coupon
where coupon_id > $1
order by coupon_id
limit $2

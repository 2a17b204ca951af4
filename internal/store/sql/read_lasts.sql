-- The latest ledger row of each coupon, with the redemption that it names, if any.
-- Asked after the coupons are locked.
select o.operation_id, o.coupon_id, o.operation, o.from_version, o.to_version, o.from_state, o.to_state, o.reason,
       o.order_id, o.lease_id, o.redemption_id, o.payment_id, o.refund_id, o.cause_id, o.actor, o.business_key,
       o.request_hash, o.original_id, o.policy_version, o.valid_until, o.at,
       r.redemption_id, r.cycle, r.order_id, r.payment_id, r.lease_id, r.operation_id, r.policy_version
from user_coupon c
join coupon_operation o on o.coupon_id = c.coupon_id and o.to_version = c.version
left join coupon_redemption r on r.coupon_id = o.coupon_id and r.redemption_id = o.redemption_id
where c.coupon_id = any ($1::text[])

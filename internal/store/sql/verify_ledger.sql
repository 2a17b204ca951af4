-- What folding needs of the ledger. An operation is only ever named by the reversal of
-- a withdrawal.
select coupon_id, from_version, to_version, operation, from_state, to_state, valid_until, order_id, lease_id,
       redemption_id, case when to_state = 'VOID' then operation_id end, original_id
from coupon_operation
where coupon_id >= $1 and ($2::text = '' or coupon_id < $2)
order by coupon_id, to_version

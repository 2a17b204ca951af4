-- What the ledger has to give, from the first id on up to the next range.
select coupon_id, state, version, valid_until, leases, cycle, lease_id, lease_order_id, redemption_id,
       redemption_order_id
from user_coupon
where coupon_id >= $1 and ($2::text = '' or coupon_id < $2)
order by coupon_id

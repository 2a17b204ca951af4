-- The redemptions of the coupons that the ledger ends.
select coupon_id, redemption_id
from coupon_operation
where coupon_id = any ($1::text[]) and from_state = 'USED' and redemption_id is not null

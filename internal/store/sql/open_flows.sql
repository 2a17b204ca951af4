-- Of these redemptions at tills those that have begun and not ended. Asked after the coupons
-- are locked.
select f.redeem_no, f.request_id, f.step, f.coupon_id, f.lease_id, f.operation_id, f.code, f.reason, f.payment_id,
       f.cause_id, f.at
from redeem_flow f
where f.redeem_no = any ($1::text[]) and f.stage = 0
  and not exists (select from redeem_flow e where e.redeem_no = f.redeem_no and e.stage = 1)

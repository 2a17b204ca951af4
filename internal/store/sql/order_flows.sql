-- At a till, the redeem number is the order.
select redeem_no, request_id, step, coupon_id, lease_id, operation_id, code, reason, payment_id, cause_id, at
from redeem_flow
where redeem_no = any ($1::text[])
order by at, redeem_no, stage
limit $2

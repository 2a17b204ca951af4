select redeem_no, request_id, step, coupon_id, lease_id, operation_id, code, reason, payment_id, cause_id, at
from redeem_flow
where redeem_no = $1
order by stage

select lease_id, coupon_id, version, generation, order_id, token_hash, purpose, deadline, acquired_version, renewal,
       operation_id, granted_at
from coupon_lock
where coupon_id >= $1 and coupon_id <= $2
order by coupon_id, version

-- One page of coupons whose validity, as it was at the issue, is over, and of each
-- whether it has to expire now. A validity may have been extended since.
select c.issued_until, c.coupon_id, c.state = 'AVAILABLE' and c.valid_until <= now()
from user_coupon c
where c.issued_until >= $1 and (c.issued_until, c.coupon_id) > ($1, $2::text)
  and c.issued_until <= now()
order by c.issued_until, c.coupon_id
limit $3

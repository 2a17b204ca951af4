select u.template_id, u.held, u.claimed, u.claim_day, u.claimed_on_day
from coupon_template t
join claim_counter u on u.template_id = t.template_id and u.person_id = $1
order by u.template_id
limit $2

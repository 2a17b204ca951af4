select u.template_id, u.held, u.claimed, u.claim_day, u.claimed_on_day
from coupon_template t
cross join lateral (
    select c.template_id, c.held, c.claimed, c.claim_day, c.claimed_on_day
    from claim_counter c
    where c.template_id = t.template_id and c.person_id = $1
    limit 1
) u
order by u.template_id
limit $2

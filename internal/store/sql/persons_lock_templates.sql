-- The templates of which a person has coupons or counters.
select template_id
from coupon_template
where template_id = any (array(
    select c.template_id from user_coupon c where c.owner_id = $1
    union
    select t.template_id from coupon_template t join claim_counter u on u.template_id = t.template_id and u.person_id = $1
))
order by template_id
for no key update

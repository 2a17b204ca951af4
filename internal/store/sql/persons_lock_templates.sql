-- The templates of which a person has coupons or counters. Counters are looked up template by template: the index begins
-- with it.
select template_id
from coupon_template
where template_id = any (array(
    select c.template_id from user_coupon c where c.owner_id = $1 and c.owner_id <> ''
    union
    select t.template_id
    from coupon_template t
    cross join lateral (select from claim_counter u where u.template_id = t.template_id and u.person_id = $1 limit 1) u
))
order by template_id
for no key update

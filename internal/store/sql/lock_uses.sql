select u.template_id, u.person_id, u.held
from claim_counter u
where (u.template_id, u.person_id) in (
    select c.template_id, c.owner_id
    from user_coupon c join coupon_template t on t.template_id = c.template_id
    where c.coupon_id = any ($1::text[]) and c.owner_id <> '' and t.uses_per_person <> -1
    union
    select n.template_id, n.person_id from unnest($2::text[], $3::text[]) as n (template_id, person_id)
)
order by u.template_id, u.person_id
for no key update of u

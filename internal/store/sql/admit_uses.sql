-- Counters of the owners of coupons whose template limits uses per person, and of
-- the pairs given on top, for coupons that are not there yet.
insert into claim_counter (template_id, person_id, held)
select p.template_id, p.person_id, 0
from (
    select c.template_id, c.owner_id as person_id
    from user_coupon c join coupon_template t on t.template_id = c.template_id
    where c.coupon_id = any ($1::text[]) and c.owner_id <> '' and t.uses_per_person <> -1
    union
    select n.template_id, n.person_id from unnest($2::text[], $3::text[]) as n (template_id, person_id)
) p
order by p.template_id collate "C", p.person_id collate "C"
on conflict do nothing

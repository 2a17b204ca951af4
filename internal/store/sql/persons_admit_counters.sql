-- Counters of person $2 wherever person $1 has one.
insert into claim_counter (template_id, person_id, held)
select u.template_id, $2, 0
from claim_counter u
where u.template_id = any ($3::text[]) and u.person_id = $1
order by u.template_id
on conflict do nothing

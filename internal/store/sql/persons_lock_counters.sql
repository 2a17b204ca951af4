select template_id, person_id
from claim_counter
where template_id = any ($3::text[]) and person_id in ($1, $2)
order by template_id, person_id
for update

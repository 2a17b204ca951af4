select template_id, person_id, claimed, claim_day, claimed_on_day
from claim_counter
where claimed <> 0
order by template_id, person_id

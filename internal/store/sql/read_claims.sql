-- What the persons have claimed of the templates. Whoever writes such a counter holds the template's lock, and so does
-- who reads it here.
select c.template_id, c.person_id, c.claimed, c.claim_day, c.claimed_on_day
from unnest($1::text[], $2::text[]) as n (template_id, person_id)
join claim_counter c on c.template_id = n.template_id and c.person_id = n.person_id

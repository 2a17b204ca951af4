-- What person $1 holds and has claimed counts for person $2 from now on, of the later day of both.
update claim_counter u
set held = u.held + a.held,
    claimed = u.claimed + a.claimed,
    claim_day = greatest(u.claim_day collate "C", a.claim_day collate "C"),
    claimed_on_day = case
        when a.claim_day = u.claim_day then u.claimed_on_day + a.claimed_on_day
        when a.claim_day collate "C" > u.claim_day collate "C" then a.claimed_on_day
        else u.claimed_on_day
    end
from claim_counter a
where a.template_id = any ($3::text[]) and a.person_id = $1 and u.template_id = a.template_id and u.person_id = $2

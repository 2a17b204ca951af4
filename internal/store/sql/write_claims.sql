insert into claim_counter (template_id, person_id, held, claimed, claim_day, claimed_on_day)
select n.template_id, n.person_id, 0, n.claimed, n.claim_day, n.claimed_on_day
from (
    select unnest($1::text[]) as template_id, unnest($2::text[]) as person_id, unnest($3::bigint[]) as claimed,
        unnest($4::text[]) as claim_day, unnest($5::bigint[]) as claimed_on_day,
        generate_subscripts($1::text[], 1) as position
) as n
order by n.position
on conflict (template_id, person_id) do update
set claimed = excluded.claimed, claim_day = excluded.claim_day, claimed_on_day = excluded.claimed_on_day

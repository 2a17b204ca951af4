delete from claim_counter where template_id = any ($2::text[]) and person_id = $1 returning template_id

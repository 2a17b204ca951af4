select template_id, person_id, held from claim_counter where held <> 0 order by template_id, person_id

select alias, person_id from person_alias where alias = any ($1::text[])

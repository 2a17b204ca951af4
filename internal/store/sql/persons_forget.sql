delete from person_alias where person_id = $1

delete from person_alias where alias = $1

insert into person_alias (alias, person_id, actor) values ($1, $2, $3)
on conflict (alias) do update set person_id = excluded.person_id, actor = excluded.actor

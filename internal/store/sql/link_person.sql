-- The other ids of the alias become the person's, and so does the alias itself.
with moved as (
    update person_alias set person_id = $2, actor = $3 where person_id = $1
)
insert into person_alias (alias, person_id, actor) values ($1, $2, $3)

-- Whoever the person's id was an alias of, and whoever was known by the alias, are one person from now on. Two that are
-- one already stay as they are.
with target as (
    select coalesce((select person_id from person_alias where alias = $2), $2) as person_id
), moved as (
    update person_alias a
    set person_id = t.person_id
    from target t
    where a.person_id = $1 and t.person_id <> $1
)
insert into person_alias (alias, person_id, actor)
select $1, t.person_id, $3 from target t where t.person_id <> $1
on conflict (alias) do update set person_id = excluded.person_id, actor = excluded.actor

-- All ids of the person that an id stands for.
select a.alias, a.person_id, a.created_at, a.actor
from person_alias a
where a.person_id = coalesce((select n.person_id from person_alias n where n.alias = $1), $1)
order by a.alias

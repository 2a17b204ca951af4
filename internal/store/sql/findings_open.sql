-- How many findings of each fault are open. Each fault is counted by itself, as far as
-- anybody wants to count: many findings of one fault hide none of another.
select f.fault, n.open
from unnest($1::text[]) as f(fault)
cross join lateral (
    select count(*) as open
    from (select 1 from finding where closed_at is null and fault = f.fault limit $2) counted
) n
where n.open > 0
order by f.fault

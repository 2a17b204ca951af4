-- How many findings of each fault are open, as far as anybody wants to count.
select f.fault, count(*)
from (select fault from finding where closed_at is null limit $1) f
group by f.fault
order by f.fault

-- Dead letters that nobody has dealt with, by reason.
select reason, count(*), min(filed_at)
from dead_letter
where status = 'NEW'
group by reason
order by count(*) desc, reason

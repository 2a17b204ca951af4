-- Letters that are known already, in the one order in which letters are locked. Jobs
-- are locked before letters, by whoever needs both.
select d.dead_letter_id
from unnest($1::text[], $2::text[], $3::bytea[]) as n (message_id, queue, body_hash)
join dead_letter d on d.message_id = n.message_id and d.queue = n.queue and d.body_hash = n.body_hash
order by d.dead_letter_id
for update of d

-- Asked after all locks are held: what another replica committed for the same message
-- is visible by then. The day leads each probe to one partition.
select i.message_id, i.hash, i.at, i.kind, i.order_id, i.code, i.status, i.done_at
from (
    select unnest($1::date[]) as day, unnest($2::text[]) as message_id
) as n
join inbox i on i.day = n.day and i.message_id = n.message_id

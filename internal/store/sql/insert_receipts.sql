-- Sorted by day and id, because this insert may wait for another transaction that is
-- writing the same message.
insert into inbox (day, at, done_at, message_id, hash, kind, order_id, code, status)
select n.day, n.at, n.done_at, n.message_id, n.hash, n.kind, n.order_id, n.code, n.status
from unnest(
    $1::date[], $2::timestamptz[], $3::timestamptz[], $4::text[], $5::bytea[], $6::text[], $7::text[], $8::text[],
    $9::text[]
) with ordinality as n (day, at, done_at, message_id, hash, kind, order_id, code, status, position)
order by n.position

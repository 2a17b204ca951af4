-- Sorted by day and id, because this insert may wait for another transaction that is
-- writing the same message.
insert into inbox (day, at, done_at, message_id, hash, kind, order_id, code, status)
select n.day, n.at, n.done_at, n.message_id, n.hash, n.kind, n.order_id, n.code, n.status
from (
    select unnest($1::date[]) as day, unnest($2::timestamptz[]) as at, unnest($3::timestamptz[]) as done_at,
        unnest($4::text[]) as message_id, unnest($5::bytea[]) as hash, unnest($6::text[]) as kind,
        unnest($7::text[]) as order_id, unnest($8::text[]) as code, unnest($9::text[]) as status,
        generate_subscripts($1::date[], 1) as position
) as n
order by n.position

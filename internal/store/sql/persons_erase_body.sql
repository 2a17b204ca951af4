-- A letter stays the letter of its message: its hash is that of the new body, unless only part of the body was kept or
-- another letter of the message has that body already.
update dead_letter d
set body = $3::bytea,
    body_size = d.body_size - octet_length(d.body) + octet_length($3::bytea),
    body_hash = case
        when d.body_size = octet_length(d.body) and not exists (
            select from dead_letter o where o.message_id = d.message_id and o.queue = d.queue and o.body_hash = $4)
        then $4
        else d.body_hash
    end
where d.ctid = $1::tid and d.body = $2
returning true

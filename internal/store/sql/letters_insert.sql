-- What happened to a letter is written by letters_fail.sql, for new and known letters
-- alike.
insert into dead_letter (dead_letter_id, message_id, queue, body_hash, kind, status, reason, error, fingerprint, host,
    service_version, attempts, first_failed_at, last_failed_at, order_id, coupons, edited_from_id, exchange,
    routing_key, content_type, correlation_id, reply_to, sent_at, headers, body_size, body,
    redacted)
select n.id, n.message_id, n.queue, n.body_hash, n.kind, 'NEW', n.reason, n.error, n.fingerprint, n.host,
       n.service_version, n.attempts, coalesce(n.first_failed_at, clock_timestamp()),
       coalesce(n.last_failed_at, clock_timestamp()), n.order_id, n.coupons::text[], n.edited_from_id, n.exchange,
       n.routing_key, n.content_type, n.correlation_id, n.reply_to, n.sent_at, n.headers::jsonb, n.body_size, n.body,
       n.redacted
from (
    select unnest($1::uuid[]) as id, unnest($2::text[]) as message_id, unnest($3::text[]) as queue,
        unnest($4::bytea[]) as body_hash, unnest($5::text[]) as kind, unnest($6::text[]) as reason,
        unnest($7::text[]) as error, unnest($8::text[]) as fingerprint, unnest($9::text[]) as host,
        unnest($10::text[]) as service_version, unnest($11::bigint[]) as attempts,
        unnest($12::timestamptz[]) as first_failed_at, unnest($13::timestamptz[]) as last_failed_at,
        unnest($14::text[]) as order_id, unnest($15::text[]) as coupons, unnest($16::uuid[]) as edited_from_id,
        unnest($17::text[]) as exchange, unnest($18::text[]) as routing_key, unnest($19::text[]) as content_type,
        unnest($20::text[]) as correlation_id, unnest($21::text[]) as reply_to, unnest($22::timestamptz[]) as sent_at,
        unnest($23::text[]) as headers, unnest($24::bigint[]) as body_size, unnest($25::bytea[]) as body,
        unnest($26::boolean[]) as redacted
) as n
order by n.id
on conflict (message_id, queue, body_hash) do nothing

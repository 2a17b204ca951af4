-- One page of whole letters in the order of filing, of so many bytes at most. The first
-- one comes whatever its size.
select d.dead_letter_id, d.message_id, d.queue, d.body_hash, d.kind, d.status, d.outcome, d.reason, d.error, d.fingerprint,
       d.host, d.service_version, d.attempts, d.failures, d.first_failed_at, d.last_failed_at, d.filed_at, d.changed_at,
       d.order_id, d.coupons, d.note, d.edited_from_id, d.replay_job_id, d.exchange, d.routing_key, d.content_type,
       d.correlation_id, d.reply_to, d.sent_at, d.headers, d.body_size, d.body,
       d.redacted, d.redacted and d.reason <> 'ID_REUSE' and exists (
           select from inbox r where r.message_id = d.message_id and r.order_id = d.order_id)
from (
    select p.dead_letter_id
    from (
        select m.dead_letter_id, sum(m.size) over (order by m.dead_letter_id) - m.size as starts_at
        from (
            select d.dead_letter_id, octet_length(d.body) + octet_length(d.error) as size
            from dead_letter d
            where ($1::uuid is null or d.dead_letter_id > $1) and dead_letter_matches(d, $2::jsonb)
              and ($3::uuid[] is null or d.dead_letter_id = any ($3))
            order by d.dead_letter_id
            limit $4
        ) m
    ) p
    where p.starts_at < $5
) page
join dead_letter d on d.dead_letter_id = page.dead_letter_id
order by d.dead_letter_id

-- The next letters of a job, of so many bytes at most, the first one whatever its size.
-- Errors may be as large as bodies, and are not needed to send a letter.
select page.position, d.dead_letter_id, d.message_id, d.queue, d.body_hash, d.kind, d.status, d.outcome, d.reason, '', d.fingerprint,
       d.host, d.service_version, d.attempts, d.failures, d.first_failed_at, d.last_failed_at, d.filed_at, d.changed_at,
       d.order_id, d.coupons, d.note, d.edited_from_id, d.replay_job_id, d.exchange, d.routing_key, d.content_type,
       d.correlation_id, d.reply_to, d.sent_at, d.headers, d.body_size, d.body,
       d.redacted, d.redacted and d.reason <> 'ID_REUSE' and exists (
           select from inbox r where r.message_id = d.message_id and r.order_id = d.order_id)
from (
    select m.position, m.dead_letter_id, sum(m.size) over (order by m.position) - m.size as starts_at
    from (
        select i.position, i.dead_letter_id, octet_length(d.body) as size
        from replay_item i join dead_letter d on d.dead_letter_id = i.dead_letter_id
        where i.replay_job_id = $1 and i.position > $2 and i.position <= $2 + $3::bigint
    ) m
) page
join dead_letter d on d.dead_letter_id = page.dead_letter_id
where page.starts_at < $4
order by d.dead_letter_id
for update of d

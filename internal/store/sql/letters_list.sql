-- One page of letters, newest first, without bodies and with the beginning of each error.
select d.dead_letter_id, d.message_id, d.queue, d.body_hash, d.kind, d.status, d.outcome, d.reason, left(d.error, 300), d.fingerprint,
       d.host, d.service_version, d.attempts, d.failures, d.first_failed_at, d.last_failed_at, d.filed_at, d.changed_at,
       d.order_id, d.coupons, d.note, d.edited_from_id, d.replay_job_id, d.exchange, d.routing_key, d.content_type,
       d.correlation_id, d.reply_to, d.sent_at, d.headers, d.body_size, ''::bytea,
       d.redacted, d.redacted and d.reason <> 'ID_REUSE' and exists (
           select from inbox r where r.message_id = d.message_id and r.order_id = d.order_id)
from dead_letter d
where ($1::uuid is null or d.dead_letter_id < $1) and dead_letter_matches(d, $2::jsonb)
  and ($3::uuid[] is null or d.dead_letter_id = any ($3))
order by d.dead_letter_id desc
limit $4

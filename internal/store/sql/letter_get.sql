select d.dead_letter_id, d.message_id, d.queue, d.body_hash, d.kind, d.status, d.outcome, d.reason, d.error, d.fingerprint,
       d.host, d.service_version, d.attempts, d.failures, d.first_failed_at, d.last_failed_at, d.filed_at, d.changed_at,
       d.order_id, d.coupons, d.note, d.edited_from_id, d.replay_job_id, d.exchange, d.routing_key, d.content_type,
       d.correlation_id, d.reply_to, d.sent_at, d.headers, d.body_size, d.body,
       d.redacted, d.redacted and d.reason <> 'ID_REUSE' and exists (
           select from inbox r where r.message_id = d.message_id and r.order_id = d.order_id)
from dead_letter d
where d.dead_letter_id = $1

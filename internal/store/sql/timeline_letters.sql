-- Dead letters about the orders, about the coupons, or of messages that were heard of.
-- Without bodies, and with the beginning of each error.
select d.dead_letter_id, d.message_id, d.queue, d.kind, d.status, d.outcome, d.reason, left(d.error, 300), d.attempts,
       d.failures, d.first_failed_at, d.last_failed_at, d.filed_at, d.changed_at, d.order_id, d.note, d.edited_from_id
from dead_letter d
where d.dead_letter_id in (
    select l.dead_letter_id from dead_letter l where l.order_id = any ($1::text[]) and l.order_id <> ''
    union
    select l.dead_letter_id from dead_letter l where l.coupons && $2::text[]
    union
    select l.dead_letter_id from dead_letter l where l.message_id = any ($3::text[])
)
order by d.dead_letter_id
limit $4

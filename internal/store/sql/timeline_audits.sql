-- What people did by hand about the coupons, or an order.
select audit_id, at, actor, action, subject, coupons, reason, outcome, count, detail
from audit_log
where audit_id in (
    select a.audit_id from audit_log a where a.coupons && $1::text[]
    union
    select a.audit_id from audit_log a where a.subject = any ($2::text[])
)
order by audit_id
limit $3

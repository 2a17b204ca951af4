insert into audit_log (at, actor, action, subject, coupons, reason, outcome, count, detail)
select coalesce(n.at, clock_timestamp()), n.actor, n.action, n.subject, n.coupons::text[], n.reason, n.outcome, n.count,
       n.detail::jsonb
from (
    select unnest($1::timestamptz[]) as at, unnest($2::text[]) as actor, unnest($3::text[]) as action,
        unnest($4::text[]) as subject, unnest($5::text[]) as coupons, unnest($6::text[]) as reason,
        unnest($7::text[]) as outcome, unnest($8::bigint[]) as count, unnest($9::text[]) as detail,
        generate_subscripts($2::text[], 1) as position
) as n
order by n.position

-- A finding that was gone is a new one again.
with done as (
    insert into finding (finding_id, run_id, fault, severity, subject, order_id, coupon_id, template_id, detail,
        first_seen_at, last_seen_at)
    select n.id, $2::uuid, n.fault, n.severity, n.subject, n.order_id, n.coupon_id, n.template_id, n.detail,
           statement_timestamp(), statement_timestamp()
    from (
        select unnest($1::uuid[]) as id, unnest($3::text[]) as fault, unnest($4::text[]) as severity,
            unnest($5::text[]) as subject, unnest($6::text[]) as order_id, unnest($7::text[]) as coupon_id,
            unnest($8::text[]) as template_id, unnest($9::text[]) as detail
    ) as n
    order by n.fault, n.subject
    on conflict (fault, subject) do update
    set run_id = excluded.run_id, severity = excluded.severity, order_id = excluded.order_id,
        coupon_id = excluded.coupon_id, template_id = excluded.template_id, detail = excluded.detail,
        first_seen_at = case when finding.closed_at is null then finding.first_seen_at else excluded.first_seen_at end,
        last_seen_at = excluded.last_seen_at, closed_at = null, seen = finding.seen + 1,
        repair = case when finding.closed_at is null then finding.repair else '' end
    returning first_seen_at = last_seen_at as opened
)
select count(*) filter (where opened) from done

insert into coupon_template_version (template_id, version, at, terms, actor, cause_id)
select n.template_id, n.version, n.at, n.terms::jsonb, n.actor, n.cause_id
from (
    select unnest($1::text[]) as template_id, unnest($2::bigint[]) as version, unnest($3::timestamptz[]) as at,
        unnest($4::text[]) as terms, unnest($5::text[]) as actor, unnest($6::text[]) as cause_id,
        generate_subscripts($1::text[], 1) as position
) as n
order by n.position

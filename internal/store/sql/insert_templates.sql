insert into coupon_template (
    template_id, version, status, budget, uses_per_person, held, issued, policy_version, valid_until, valid_days,
    zone, transferable
)
select n.template_id, n.version, n.status, n.budget, n.uses_per_person, n.held, n.issued, n.policy_version,
       n.valid_until, n.valid_days, n.zone, n.transferable
from (
    select unnest($1::text[]) as template_id, unnest($2::bigint[]) as version, unnest($3::text[]) as status,
        unnest($4::bigint[]) as budget, unnest($5::bigint[]) as uses_per_person, unnest($6::bigint[]) as held,
        unnest($7::bigint[]) as issued, unnest($8::bigint[]) as policy_version,
        unnest($9::timestamptz[]) as valid_until, unnest($10::bigint[]) as valid_days, unnest($11::text[]) as zone,
        unnest($12::boolean[]) as transferable, generate_subscripts($1::text[], 1) as position
) as n
order by n.position

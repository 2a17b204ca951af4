insert into coupon_template (
    template_id, version, status, budget, uses_per_person, held, issued, policy_version, valid_until, valid_days,
    zone, transferable
)
select n.template_id, n.version, n.status, n.budget, n.uses_per_person, n.held, n.issued, n.policy_version,
       n.valid_until, n.valid_days, n.zone, n.transferable
from unnest(
    $1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
    $9::timestamptz[], $10::bigint[], $11::text[], $12::boolean[]
) with ordinality as n (
    template_id, version, status, budget, uses_per_person, held, issued, policy_version, valid_until, valid_days,
    zone, transferable, position
)
order by n.position

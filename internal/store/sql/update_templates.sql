with done as (
    update coupon_template t
    set version = n.version, status = n.status, budget = n.budget, uses_per_person = n.uses_per_person,
        held = n.held, issued = n.issued, policy_version = n.policy_version, valid_until = n.valid_until,
        valid_days = n.valid_days, zone = n.zone, transferable = n.transferable
    from unnest(
        $1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
        $9::timestamptz[], $10::bigint[], $11::text[], $12::boolean[]
    ) as n (
        template_id, version, status, budget, uses_per_person, held, issued, policy_version, valid_until, valid_days,
        zone, transferable
    )
    where t.template_id = n.template_id
    returning 1
)
select expect_rows('update of coupon_template', count(*), cardinality($1::text[])) from done

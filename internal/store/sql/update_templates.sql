with done as (
    update coupon_template t
    set version = n.version, status = n.status, budget = n.budget, uses_per_person = n.uses_per_person,
        held = n.held, issued = n.issued, policy_version = n.policy_version, valid_until = n.valid_until,
        valid_days = n.valid_days, zone = n.zone, transferable = n.transferable
    from (
        select unnest($1::text[]) as template_id, unnest($2::bigint[]) as version, unnest($3::text[]) as status,
            unnest($4::bigint[]) as budget, unnest($5::bigint[]) as uses_per_person, unnest($6::bigint[]) as held,
            unnest($7::bigint[]) as issued, unnest($8::bigint[]) as policy_version,
            unnest($9::timestamptz[]) as valid_until, unnest($10::bigint[]) as valid_days,
            unnest($11::text[]) as zone, unnest($12::boolean[]) as transferable
    ) as n
    where t.template_id = n.template_id
    returning 1
)
select expect_rows('update of coupon_template', count(*), cardinality($1::text[])) from done

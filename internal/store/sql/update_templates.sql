-- A compare-and-set: $24 to $26 are version, issued and held as they were read under the lock.
with done as (
    update coupon_template t
    set version = n.version, status = n.status, budget = n.budget, uses_per_person = n.uses_per_person,
        held = n.held, issued = n.issued, policy_version = n.policy_version, valid_until = n.valid_until,
        valid_days = n.valid_days, zone = n.zone, transferable = n.transferable, name = n.name,
        discount = n.discount::jsonb, total = n.total, per_person = n.per_person, per_day = n.per_day,
        valid_from = n.valid_from, imported = n.imported, generation = n.generation, told_sold_out = n.told_sold_out,
        held_most = n.held_most, uses_most = n.uses_most
    from (
        select unnest($1::text[]) as template_id, unnest($2::bigint[]) as version, unnest($3::text[]) as status,
            unnest($4::bigint[]) as budget, unnest($5::bigint[]) as uses_per_person, unnest($6::bigint[]) as held,
            unnest($7::bigint[]) as issued, unnest($8::bigint[]) as policy_version,
            unnest($9::timestamptz[]) as valid_until, unnest($10::bigint[]) as valid_days,
            unnest($11::text[]) as zone, unnest($12::boolean[]) as transferable, unnest($13::text[]) as name,
            unnest($14::text[]) as discount, unnest($15::bigint[]) as total, unnest($16::bigint[]) as per_person,
            unnest($17::bigint[]) as per_day, unnest($18::timestamptz[]) as valid_from,
            unnest($19::bigint[]) as imported, unnest($20::bigint[]) as generation,
            unnest($21::bigint[]) as told_sold_out, unnest($22::bigint[]) as held_most,
            unnest($23::bigint[]) as uses_most, unnest($24::bigint[]) as base_version,
            unnest($25::bigint[]) as base_issued, unnest($26::bigint[]) as base_held
    ) as n
    where t.template_id = n.template_id and t.version = n.base_version and t.issued = n.base_issued
      and t.held = n.base_held
    returning 1
)
select expect_rows('update of coupon_template', count(*), cardinality($1::text[])) from done

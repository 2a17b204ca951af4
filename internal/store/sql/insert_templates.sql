insert into coupon_template (
    template_id, version, status, budget, uses_per_person, held, issued, policy_version, valid_until, valid_days,
    zone, transferable, name, discount, total, per_person, per_day, valid_from, imported, generation, told_sold_out,
    held_most, uses_most
)
select n.template_id, n.version, n.status, n.budget, n.uses_per_person, n.held, n.issued, n.policy_version,
       n.valid_until, n.valid_days, n.zone, n.transferable, n.name, n.discount::jsonb, n.total, n.per_person, n.per_day,
       n.valid_from, n.imported, n.generation, n.told_sold_out, n.held_most, n.uses_most
from (
    select unnest($1::text[]) as template_id, unnest($2::bigint[]) as version, unnest($3::text[]) as status,
        unnest($4::bigint[]) as budget, unnest($5::bigint[]) as uses_per_person, unnest($6::bigint[]) as held,
        unnest($7::bigint[]) as issued, unnest($8::bigint[]) as policy_version,
        unnest($9::timestamptz[]) as valid_until, unnest($10::bigint[]) as valid_days, unnest($11::text[]) as zone,
        unnest($12::boolean[]) as transferable, unnest($13::text[]) as name, unnest($14::text[]) as discount,
        unnest($15::bigint[]) as total, unnest($16::bigint[]) as per_person, unnest($17::bigint[]) as per_day,
        unnest($18::timestamptz[]) as valid_from, unnest($19::bigint[]) as imported, unnest($20::bigint[]) as generation,
        unnest($21::bigint[]) as told_sold_out, unnest($22::bigint[]) as held_most, unnest($23::bigint[]) as uses_most,
        generate_subscripts($1::text[], 1) as position
) as n
order by n.position

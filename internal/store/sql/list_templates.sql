-- The templates after an id, in the order of ids.
select template_id, version, status, budget, uses_per_person, held, issued, policy_version, valid_until, valid_days,
       zone, transferable, name, discount, total, per_person, per_day, valid_from, imported, generation, told_sold_out,
       held_most, uses_most
from coupon_template
where template_id > $1::text and ($2::text = '' or status = $2::text)
order by template_id
limit $3

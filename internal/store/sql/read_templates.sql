-- The templates named, those of the coupons named, and those of the coupons that the
-- orders named before. A coupon never changes its template.
select template_id, version, status, budget, uses_per_person, held, issued, policy_version, valid_until, valid_days,
       zone, transferable, name, discount, total, per_person, per_day, valid_from, imported, generation, told_sold_out,
       held_most, uses_most
from coupon_template
where template_id in (
    select named.template_id from unnest($1::text[]) as named (template_id)
    union
    select c.template_id from user_coupon c where c.coupon_id = any ($2::text[])
    union
    select c.template_id
    from order_coupon o join user_coupon c on c.coupon_id = o.coupon_id
    where o.order_id = any ($3::text[])
)

-- Campaigns whose claims are limited and open.
select template_id, version, status, budget, uses_per_person, held, issued, policy_version, valid_until, valid_days,
       zone, transferable, name, discount, total, per_person, per_day, valid_from, imported, generation, told_sold_out,
       held_most, uses_most
from coupon_template
where status = 'ACTIVE' and (total <> -1 or per_person <> -1 or per_day <> -1)
  and (valid_until is null or valid_until > now()) and (valid_from is null or valid_from <= now())
order by template_id

select template_id, version, status, budget, uses_per_person, held, issued, policy_version, valid_until, valid_days,
       zone, transferable
from coupon_template
order by template_id

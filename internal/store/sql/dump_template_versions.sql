select template_id, version, at, terms, actor, cause_id
from coupon_template_version
order by template_id, version

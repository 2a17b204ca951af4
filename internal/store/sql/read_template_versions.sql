select template_id, version, at, terms, actor, cause_id
from coupon_template_version
where template_id = $1
order by version

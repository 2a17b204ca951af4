-- The versions that the causes named made, each behind the one before it.
select distinct w.template_id, w.version, w.at, w.terms, w.actor, w.cause_id
from coupon_template_version v
join coupon_template_version w on w.template_id = v.template_id and w.version in (v.version - 1, v.version)
where v.template_id = any ($1::text[]) and v.cause_id = any ($2::text[])
order by w.template_id, w.version

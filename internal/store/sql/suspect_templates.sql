-- What the coupons and the ledger say about the counters of every template, and these. A use that
-- was given back counts against the budget unless the policy gave that back as well. $1
-- are the templates to look at, null is all.
select t.template_id, coalesce(i.issued, 0), coalesce(i.imported, 0), coalesce(i.held, 0) + coalesce(e.kept, 0),
       t.issued, t.imported, t.held
from coupon_template t
left join (
    select c.template_id, count(*) filter (where c.origin <> 'IMPORT') as issued,
           count(*) filter (where c.origin = 'IMPORT') as imported,
           count(*) filter (where c.state in ('LOCKED', 'USED')) as held
    from user_coupon c
    where $1::text[] is null or c.template_id = any ($1::text[])
    group by c.template_id
) i on i.template_id = t.template_id
left join (
    select c.template_id,
           count(*) filter (where o.from_state = 'USED' and o.operation <> 'REVERSE')
           - count(*) filter (where o.from_state = 'VOID' and o.to_state = 'USED') as kept
    from coupon_operation o
    join user_coupon c on c.coupon_id = o.coupon_id
    join coupon_template l on l.template_id = c.template_id and l.budget <> -1
    left join return_policy p on p.version = o.policy_version
    where o.from_state in ('USED', 'VOID') and not coalesce((p.document ->> 'budgetBack')::boolean, false)
      and ($1::text[] is null or c.template_id = any ($1::text[]))
    group by c.template_id
) e on e.template_id = t.template_id
where $1::text[] is null or t.template_id = any ($1::text[])
order by t.template_id

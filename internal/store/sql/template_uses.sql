-- What each limited template counts as held, beside what is held: leases, redemptions,
-- and redemptions that ended under a policy that does not give the budget back.
select t.template_id, t.budget, t.held,
       (select count(*)
        from user_coupon c
        where c.template_id = t.template_id and c.state in ('LOCKED', 'USED'))
       + (select count(*)
          from user_coupon c
          join coupon_operation o on o.coupon_id = c.coupon_id
          join return_policy p on p.version = o.policy_version
          where c.template_id = t.template_id and o.from_state = 'USED'
            and o.operation in ('RETURN', 'RETIRE', 'VOID') and not (p.document ->> 'budgetBack')::boolean)
from coupon_template t
where t.budget <> -1
order by t.template_id

-- The counters per person that differ from what the person holds, or has claimed: of each kind $1 at most. $2 are the
-- templates to look at, null is all.
(select 'uses', coalesce(u.template_id, a.template_id), coalesce(u.person_id, a.person_id), coalesce(u.held, 0),
        coalesce(a.held, 0)
 from (
     select u.template_id, u.person_id, u.held
     from claim_counter u join coupon_template t on t.template_id = u.template_id
     where t.uses_per_person <> -1 and ($2::text[] is null or u.template_id = any ($2::text[]))
 ) u
 full join (
     select c.template_id, c.owner_id as person_id, count(*) as held
     from user_coupon c join coupon_template t on t.template_id = c.template_id
     where t.uses_per_person <> -1 and c.owner_id <> '' and c.state in ('LOCKED', 'USED')
       and ($2::text[] is null or c.template_id = any ($2::text[]))
     group by c.template_id, c.owner_id
 ) a on a.template_id = u.template_id and a.person_id = u.person_id
 where coalesce(u.held, 0) <> coalesce(a.held, 0)
 order by 2, 3
 limit $1)
union all
(select 'claims', coalesce(u.template_id, a.template_id), coalesce(u.person_id, a.person_id), coalesce(u.claimed, 0),
        coalesce(a.claimed, 0)
 from (select template_id, person_id, claimed from claim_counter
     where claimed <> 0 and ($2::text[] is null or template_id = any ($2::text[]))) u
 full join (
     select c.template_id, c.owner_id as person_id, count(*) as claimed
     from user_coupon c
     where c.claim_no is not null and c.origin = 'CLAIM'
       and ($2::text[] is null or c.template_id = any ($2::text[]))
     group by c.template_id, c.owner_id
 ) a on a.template_id = u.template_id and a.person_id = u.person_id
 where coalesce(u.claimed, 0) <> coalesce(a.claimed, 0)
 order by 2, 3
 limit $1)

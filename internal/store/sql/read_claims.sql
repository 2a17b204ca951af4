-- What the persons have claimed of the templates, the highest number of a claim without a batch, and how many claims there
-- are, which are looked at only if the counter cannot be right. Whoever writes such a counter, or such a coupon, holds the
-- template's lock, and so does who reads it here.
select n.template_id, n.person_id, coalesce(c.claimed, 0), coalesce(c.claim_day, ''), coalesce(c.claimed_on_day, 0), m.most,
       case
           when m.most > coalesce(c.claimed, 0) then (
               select count(*)
               from user_coupon u
               where u.template_id = n.template_id and u.owner_id = n.person_id and u.claim_no is not null
                 and u.origin = 'CLAIM')
           else coalesce(c.claimed, 0)
       end
from unnest($1::text[], $2::text[]) as n (template_id, person_id)
left join claim_counter c on c.template_id = n.template_id and c.person_id = n.person_id
cross join lateral (
    select coalesce((
        select u.claim_no
        from user_coupon u
        where u.template_id = n.template_id and u.owner_id = n.person_id and u.batch_id = '' and u.claim_no is not null
        order by u.claim_no desc
        limit 1), 0) as most
) m

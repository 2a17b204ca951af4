-- What somebody holds as one person stays, although it may be more than one may hold. The new generation lets the pool
-- of claims be filled anew, with the persons that there are now, and says nothing new about what is sold out.
update coupon_template t
set uses_most = case
        when t.uses_per_person <> -1 and u.held > t.uses_per_person then greatest(t.uses_most, u.held)
        else t.uses_most
    end,
    generation = t.generation + 1,
    told_sold_out = case when t.told_sold_out = t.generation then t.generation + 1 else t.told_sold_out end
from claim_counter u
where t.template_id = any ($2::text[]) and u.template_id = t.template_id and u.person_id = $1

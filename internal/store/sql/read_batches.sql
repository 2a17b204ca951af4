-- The coupons that owners have from batches.
select c.template_id, c.owner_id, c.batch_id, c.coupon_id
from unnest($1::text[], $2::text[], $3::text[]) as n (template_id, owner_id, batch_id)
join user_coupon c on c.template_id = n.template_id and c.owner_id = n.owner_id and c.batch_id = n.batch_id
where c.claim_no is not null

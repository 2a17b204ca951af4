-- Persons who have a coupon of the campaign that they claimed or were issued.
select distinct owner_id
from user_coupon
where template_id = $1 and owner_id > $2 and claim_no is not null
order by owner_id
limit $3

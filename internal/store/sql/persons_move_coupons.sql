-- The coupons of person $1 become those of person $2. Numbers of claims go on behind those that person $2 has, within each
-- batch: who had one of a batch under each id keeps both.
with most as (
    select template_id, batch_id, max(claim_no) as claim_no
    from user_coupon
    where owner_id = $2 and owner_id <> '' and claim_no is not null
    group by template_id, batch_id
)
update user_coupon c
set owner_id = $2,
    claim_no = c.claim_no + coalesce((
        select m.claim_no from most m where m.template_id = c.template_id and m.batch_id = c.batch_id), 0)
where c.owner_id = $1 and c.owner_id <> ''

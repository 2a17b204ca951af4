-- The orders that a payment paid: as a fact, with a command, or at a till.
select order_id from order_fact where payments @> jsonb_build_array(jsonb_build_object('id', $1::text))
union
select order_id from coupon_redemption where payment_id = $1::text and order_id <> ''
union
select redeem_no from redeem_flow where payment_id = $1::text
order by 1
limit $2

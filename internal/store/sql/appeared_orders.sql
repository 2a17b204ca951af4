-- Orders that had no row when they were looked at and have one now that the coupons
-- are locked.
select order_id from order_fact where order_id = any ($1::text[])

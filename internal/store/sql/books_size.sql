-- About how many coupons and orders there are.
select coalesce((select reltuples::bigint from pg_class where oid = 'user_coupon'::regclass), 0),
       coalesce((select reltuples::bigint from pg_class where oid = 'order_fact'::regclass), 0)

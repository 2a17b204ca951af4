select pg_relation_size('user_coupon')

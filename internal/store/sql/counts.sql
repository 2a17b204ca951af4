select (select count(*) from inbox),
       (select count(*) from order_fact where placed is not null),
       (select count(*) from coupon_operation),
       (select count(*)
        from lease_timer t
        join user_coupon c on c.coupon_id = t.coupon_id and c.lease_id = t.lease_id and c.lease_version = t.version
        where t.due_at <= now() - $1 * interval '1 microsecond' and c.state = 'LOCKED'),
       (select count(*) from coupon_command),
       (select count(*) filter (where stage = 0) - count(*) filter (where stage = 1) from redeem_flow)

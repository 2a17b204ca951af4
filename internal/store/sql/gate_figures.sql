-- What the gates look at, each from the head of an index and counted no further than
-- anybody wants to. Of timers those are looked at that have become overdue of late: older
-- ones are found by reconciliation.
select (select count(*) from (select 1 from coupon_outbox where parked_at is not null limit $2) parked),
       (select min(created_at) from coupon_outbox_head),
       (select count(*)
        from (select t.coupon_id, t.lease_id, t.version
              from lease_timer t
              where t.due_at < statement_timestamp() - $1 * interval '1 microsecond'
                and t.due_at >= statement_timestamp() - $1 * interval '1 microsecond' - interval '1 hour'
              order by t.due_at desc
              limit $2) due
        join user_coupon c on c.coupon_id = due.coupon_id and c.lease_id = due.lease_id
            and c.lease_version = due.version and c.state = 'LOCKED'),
       (select count(*) from (select 1 from dead_letter where status = 'NEW' limit $2) waiting),
       (select max(finished_at) from reconcile_run where finished_at is not null and 'DOUBLE_USE' = any (faults)),
       clock_timestamp()

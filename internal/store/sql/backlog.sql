-- The oldest row is the one that the gate looks at.
select (select count(*) from coupon_outbox where parked_at is null),
       (select coalesce(sum(messages), 0) from coupon_outbox where parked_at is null),
       (select count(*) from coupon_outbox where parked_at is not null),
       (select min(created_at) from coupon_outbox_head),
       (select count(*) from review_case where resolved_at is null)

-- Rows that have waited for long, oldest first.
select payload, created_at
from coupon_outbox
where created_at < $1::timestamptz
order by created_at, shard, id
limit $2

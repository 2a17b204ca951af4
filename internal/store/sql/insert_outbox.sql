insert into coupon_outbox (shard, messages, created_at, payload)
select n.shard, n.messages, $3, n.payload
from unnest($1::int[], $2::int[], $4::text[]) as n (shard, messages, payload)

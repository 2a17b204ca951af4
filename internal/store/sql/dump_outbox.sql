select shard, messages, payload from coupon_outbox order by shard, id

-- How many rows that wait to be published speak of the coupon. Of a long queue only
-- the head is searched.
select count(*)
from (select o.payload from coupon_outbox o order by o.shard, o.id limit $2) waiting
where strpos(waiting.payload, $1) > 0

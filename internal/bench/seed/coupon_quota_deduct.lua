-- Takes one coupon of a campaign: the script of the design that the benchmark compares with.
--
-- KEYS[1]  what is left of the campaign, a string
--
-- Answers 1 when one was taken, 0 when nothing is left.
local quota_key = KEYS[1]
local remaining = tonumber(redis.call('GET', quota_key))
if remaining and remaining > 0 then
  redis.call('DECR', quota_key)
  return 1
else
  return 0
end

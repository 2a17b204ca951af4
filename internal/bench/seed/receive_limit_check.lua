-- Counts one claim of a person: the script of the design that the benchmark compares with.
--
-- KEYS[1]  what the person has claimed, a string
--
-- ARGV[1]  how many a person may claim
-- ARGV[2]  for how long that is remembered, in seconds
--
-- Answers 1 when it was counted, 0 when the person has as many already.
local limit_key = KEYS[1]
local limit = tonumber(ARGV[1])
local current = tonumber(redis.call('GET', limit_key) or '0')
if current >= limit then
  return 0
end
redis.call('INCR', limit_key)
redis.call('EXPIRE', limit_key, ARGV[2])
return 1

-- Tells a stock who got something of its campaign.
--
-- KEYS[1]  stock, a hash: generation, left, perPerson, perDay, exact, expires
-- KEYS[2]  seen, a set: fingerprints of persons who got something
--
-- ARGV[1]  generation of the stock that is told
-- ARGV[2]  1 when these are the last, so that all are seen; else 0
-- ARGV[3]  and on: fingerprints, some thousand at most
--
-- Answers
--   1  it was told
--   0  the stock is of another generation

local fields = redis.call('HMGET', KEYS[1], 'generation', 'exact', 'expires')
if fields[1] ~= ARGV[1] then
  return 0
end
if #ARGV > 2 then
  redis.call('SADD', KEYS[2], unpack(ARGV, 3))
  redis.call('PEXPIREAT', KEYS[2], fields[3])
end
if ARGV[2] == '1' and fields[2] == '0' then
  redis.call('HSET', KEYS[1], 'exact', '2')
end
return 1

-- Sets the stock of a campaign, unless there is one of a later generation.
--
-- KEYS[1]  stock, a hash: generation, left, perPerson, perDay, exact, expires
-- KEYS[2]  persons of the new generation, a hash that is not there when the generation is new
-- KEYS[3]  persons of the generation ARGV[7]
-- KEYS[4]  seen of the new generation, a set that is not there when the generation is new
-- KEYS[5]  seen of the generation ARGV[7]
--
-- ARGV[1]  generation
-- ARGV[2]  how many coupons are left, -1 for any number
-- ARGV[3]  how many a person may have, -1 for any number
-- ARGV[4]  how many a person may have in a day, -1 for any number
-- ARGV[5]  1 when nothing was handed out before, so that everybody who gets something will be seen; else 0
-- ARGV[6]  when all of it may be forgotten, in ms since 1970
-- ARGV[7]  generation of the stock as the loader saw it, or 0 for none; it may have changed since
--
-- Answers
--   1  the stock is set
--   0  there is one of a later generation

local current = redis.call('HGET', KEYS[1], 'generation')
if current and tonumber(current) > tonumber(ARGV[1]) then
  return 0
end
if current and current ~= ARGV[1] and current == ARGV[7] then
  redis.call('UNLINK', KEYS[3], KEYS[5]) -- nobody asks for them again; what is missed here ends by itself
end
redis.call('HSET', KEYS[1], 'generation', ARGV[1], 'left', ARGV[2], 'perPerson', ARGV[3], 'perDay', ARGV[4],
  'exact', ARGV[5], 'expires', ARGV[6])
for _, key in ipairs({KEYS[1], KEYS[2], KEYS[4]}) do
  redis.call('PEXPIREAT', key, ARGV[6])
end
return 1

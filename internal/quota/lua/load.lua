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
-- ARGV[8]  1 to keep who was seen by the stock before, else 0
--
-- Answers
--   1  the stock is set
--   0  there is one of a later generation

local fields = redis.call('HMGET', KEYS[1], 'generation', 'exact')
local current, exact = fields[1], ARGV[5]
if current and tonumber(current) > tonumber(ARGV[1]) then
  return 0
end
if current and current == ARGV[7] and ARGV[8] == '1' and exact == '0' then
  exact = fields[2]
end
if current and current ~= ARGV[1] and current == ARGV[7] then
  redis.call('UNLINK', KEYS[3]) -- nobody asks for it again; what is missed here ends by itself
  if ARGV[8] ~= '1' then
    redis.call('UNLINK', KEYS[5])
  elseif redis.call('EXISTS', KEYS[5]) == 1 then
    redis.call('RENAME', KEYS[5], KEYS[4])
  end
end
redis.call('HSET', KEYS[1], 'generation', ARGV[1], 'left', ARGV[2], 'perPerson', ARGV[3], 'perDay', ARGV[4],
  'exact', exact, 'expires', ARGV[6])
for _, key in ipairs({KEYS[1], KEYS[2], KEYS[4]}) do
  redis.call('PEXPIREAT', key, ARGV[6])
end
return 1

-- Gives back what a request took and did not get. A second run finds no marker and changes nothing.
--
-- KEYS[1]  stock, a hash: generation, left, perPerson, perDay, exact, expires
-- KEYS[2]  marker of the request, a string: the generation in which it took a coupon, with a + behind it when another
--          message of the request came since
-- KEYS[3]  persons, a hash: fingerprint of a person -> coupons taken in this generation
-- KEYS[4]  day, a hash: fingerprint of a person -> coupons taken on this day in this generation
--
-- ARGV[1]  generation in which the request asked, in which KEYS[3] and KEYS[4] are
-- ARGV[2]  fingerprint of the person, or '' for nobody known
-- ARGV[3]  when the counts of the day may be forgotten, in ms since 1970, or 0 where days are not counted
-- ARGV[4]  why it got nothing: USER_LIMIT and DAY_LIMIT say that the person is at that limit; anything else nothing
-- ARGV[5]  1 to give back only what no other message of the request has met, else 0
--
-- Answers
--   1  the coupon is in the stock again
--   0  nothing was given back: there is no marker, or it is of another generation than the stock or the asker, or
--      another message has met it

local stock, marker, persons, day = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local generation, person, forget, why, alone = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

-- set keeps a count above zero only, and lets a hash that it creates end like others.
local function set(hash, count, ends)
  if count < 1 then
    redis.call('HDEL', hash, person)
  elseif redis.call('HSET', hash, person, count) == 1 and redis.call('HLEN', hash) == 1 then
    redis.call('PEXPIREAT', hash, ends)
  end
end

-- settle makes one less of the count, or the limit when the person is known to be at it.
local function settle(hash, limit, isAt, ends)
  if not isAt then
    set(hash, tonumber(redis.call('HGET', hash, person) or 0) - 1, ends)
  elseif limit ~= -1 then
    set(hash, limit, ends)
  end
end

local marked = redis.call('GET', marker)
local met = marked and string.sub(marked, -1) == '+'
if met then
  marked = string.sub(marked, 1, -2)
end
if met and alone == '1' then
  return 0
end
if not marked or tonumber(marked) > tonumber(generation) then
  return 0 -- what the request took since is not what this asker means
end
redis.call('DEL', marker)
local fields = redis.call('HMGET', stock, 'generation', 'left', 'perPerson', 'perDay', 'expires')
if fields[1] ~= marked or marked ~= generation then
  return 0
end
if fields[2] ~= '-1' then
  redis.call('HINCRBY', stock, 'left', 1)
end
if person ~= '' then
  settle(persons, tonumber(fields[3]), why == 'USER_LIMIT', fields[5])
  if forget ~= '0' then
    settle(day, tonumber(fields[4]), why == 'DAY_LIMIT', forget)
  end
end
return 1

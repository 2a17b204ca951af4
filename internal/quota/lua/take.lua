-- Takes one coupon of a campaign for one request, or says why not.
--
-- KEYS[1]  stock, a hash: generation, left, perPerson, perDay, exact, expires
-- KEYS[2]  marker of the request, a string: the generation in which it took a coupon, with a + behind it when another
--          message of the request came since
-- KEYS[3]  persons, a hash: fingerprint of a person -> coupons taken in this generation
-- KEYS[4]  day, a hash: fingerprint of a person -> coupons taken on this day in this generation
-- KEYS[5]  seen, a set: fingerprints of persons who got something, given back or not
--
-- ARGV[1]  generation of the stock as the asker knows it, in which KEYS[3] to KEYS[5] are
-- ARGV[2]  fingerprint of the person, or '' for nobody known
-- ARGV[3]  when the counts of the day may be forgotten, in ms since 1970, or 0 where days are not counted
-- ARGV[4]  for how long the request is remembered, in ms
--
-- Answers {verdict, generation of the stock or 0, held: 1 or 0}. The verdict is the first that holds:
--   NOT_LOADED  there is no stock, or it is of another generation
--   ALREADY     the request has a marker, which is told that another message came
--   SOLD_OUT    nothing is left; held when the person has got something, or may have without being seen here
--   USER_LIMIT  the person has as many as a person may have; always held
--   DAY_LIMIT   the person has as many as a person may have in a day; always held
--   GRANTED     one was taken
-- A limit of -1 is none. exact is 1 when all that was ever handed out went through here, 2 when all persons who got
-- something are seen, 0 when some may be missing.

local stock, marker, persons, day, seen = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local generation, person, forget, remember = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local known, counted = person ~= '', person ~= '' and forget ~= '0'

local fields = redis.call('HMGET', stock, 'generation', 'left', 'perPerson', 'perDay', 'exact', 'expires')
local current, left, perPerson, perDay = fields[1], tonumber(fields[2]), tonumber(fields[3]), tonumber(fields[4])
local exact, expires = fields[5], fields[6]

local function answer(verdict, held)
  return {verdict, tonumber(current or 0), held and 1 or 0}
end

-- add counts one more for the person. Whoever creates a hash says when it ends, and nobody moves that.
local function add(hash, ends)
  if redis.call('HINCRBY', hash, person, 1) == 1 and redis.call('HLEN', hash) == 1 then
    redis.call('PEXPIREAT', hash, ends)
  end
end

if current ~= generation then
  return answer('NOT_LOADED', false)
end
local marked = redis.call('GET', marker)
if marked then
  if string.sub(marked, -1) ~= '+' then
    redis.call('SET', marker, marked .. '+', 'KEEPTTL')
  end
  return answer('ALREADY', false)
end
local has = known and tonumber(redis.call('HGET', persons, person) or 0) or 0
if left ~= -1 and left < 1 then
  if known then
    return answer('SOLD_OUT', exact == '0' or redis.call('SISMEMBER', seen, person) == 1)
  end
  return answer('SOLD_OUT', exact ~= '1')
end
if known and perPerson ~= -1 and has >= perPerson then
  return answer('USER_LIMIT', true)
end
if counted and perDay ~= -1 and tonumber(redis.call('HGET', day, person) or 0) >= perDay then
  return answer('DAY_LIMIT', true)
end

if left ~= -1 then
  redis.call('HINCRBY', stock, 'left', -1)
end
if known then
  add(persons, expires)
  if redis.call('SADD', seen, person) == 1 and redis.call('SCARD', seen) == 1 then
    redis.call('PEXPIREAT', seen, expires)
  end
end
if counted then
  add(day, forget)
end
redis.call('SET', marker, generation, 'PX', remember)
return answer('GRANTED', false)

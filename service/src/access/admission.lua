-- Admits one request in one round trip; the same rules as the function admit() in PostgreSQL.
-- All keys are in one hash slot: the account's own contain {account_id}, the slot's state key has a tag that hashes to the slot.
--
-- An epoch is a period in which the store has lost nothing. "Witnessed" means: durably recorded in the database.
--
-- KEYS: 1 state of the slot, 2 the nonce, 3 request times, 4 order times, 5 announced access version, 6 refusals
-- ARGV: 1 signed_at, 2 access version, 3 epoch in which the key was confirmed ('' = just read), 4 is an order (1 or 0),
--       5 requests max, 6 orders max, 7 what is witnessed so far: '' nothing, 'nonce', or 'refusal' (then 3 is the epoch that
--       asked for it), 8 with 'refusal': the time up to which requests are refused
-- Replies {verdict, epoch, requests used, oldest leaves ms, orders used, oldest leaves ms, wait ms}
local WINDOW_MS = 60000
local USABLE_S = 120
local NONCE_KEPT_S = 600
local NONCE_TTL_S = 720

local time = redis.call('TIME')
local now_s = tonumber(time[1])
local now_ms = now_s * 1000 + math.floor(tonumber(time[2]) / 1000)
local signed_at = tonumber(ARGV[1])

-- An epoch never outlives the server process: a restart may have lost the last writes, a promoted replica may never have had
-- them, and a flush deletes this key along with the rest.
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local state = redis.call('HMGET', KEYS[1], 'run', 'lost_at', 'purged_to')
if state[1] ~= run then
  -- Two seconds more than now: nonces signed up to a second ahead are not witnessed, and the clock of a promoted replica
  -- may be a little behind.
  state = { run, tostring(now_s + 2), state[3] or '0' }
  redis.call('HSET', KEYS[1], 'run', run, 'lost_at', state[2], 'purged_to', state[3])
end
local epoch = string.sub(run, 1, 8) .. ':' .. state[2]
local lost_at = tonumber(state[2])
local purged_to = tonumber(state[3])
if now_s <= lost_at then
  return { 'warming', epoch }
end

-- A revocation announced here, or one whose announcement was lost in an earlier epoch. Checked once per request: between the
-- two calls of a witnessed request the result could change, and its nonce is spent by then.
local is_witnessed = ARGV[7] ~= ''
local announced = redis.call('GET', KEYS[5])
local is_behind = announced and tonumber(announced) > tonumber(ARGV[2])
if is_witnessed and ARGV[3] ~= epoch then
  -- The epoch of the first call has ended, and announcements made in between are lost.
  return { 'warming', epoch }
end
if not is_witnessed and (is_behind or (ARGV[3] ~= '' and ARGV[3] ~= epoch)) then
  return { 'changed', epoch }
end

if now_s - NONCE_KEPT_S > purged_to + 30 then
  purged_to = now_s - NONCE_KEPT_S
  redis.call('HSET', KEYS[1], 'purged_to', purged_to)
end
if signed_at <= lost_at or signed_at <= purged_to then
  return { 'forgotten', epoch }
end

if redis.call('EXISTS', KEYS[2]) == 1 then
  return { 'replayed', epoch }
end

-- Updates a window; returns how many requests are in it and when the oldest was admitted.
local function look(key)
  local newest = tonumber(redis.call('LINDEX', key, -1) or '0')
  if newest > now_ms + 1 then
    -- A clock that stepped back leaves timestamps in the future; they count as made now.
    for n, stamp in ipairs(redis.call('LRANGE', key, 0, -1)) do
      if tonumber(stamp) > now_ms then redis.call('LSET', key, n - 1, now_ms) end
    end
  end
  local oldest = tonumber(redis.call('LINDEX', key, 0) or now_ms)
  while oldest <= now_ms - WINDOW_MS do
    redis.call('LPOP', key)
    oldest = tonumber(redis.call('LINDEX', key, 0) or now_ms)
  end
  return redis.call('LLEN', key), oldest
end

-- Time until one more request fits: when enough of the oldest ones have left the window.
local function wait(key, used, max)
  if used < max then return 0 end
  return tonumber(redis.call('LINDEX', key, used - max)) + WINDOW_MS - now_ms
end

-- Recorded a millisecond late and checked a millisecond early, so that no window of 60 s ever holds one too many.
local function count(key)
  redis.call('RPUSH', key, now_ms + 1)
  redis.call('PEXPIRE', key, WINDOW_MS + 1000)
end

local is_order = ARGV[4] == '1'
local requests, requests_oldest = look(KEYS[3])
local orders, orders_oldest = look(KEYS[4])
local wait_ms = wait(KEYS[3], requests, tonumber(ARGV[5]))
if is_order then
  wait_ms = math.max(wait_ms, wait(KEYS[4], orders, tonumber(ARGV[6])))
end
local function reply(verdict)
  return {
    verdict, epoch,
    requests, requests == 0 and 0 or requests_oldest + WINDOW_MS - now_ms,
    orders, orders == 0 and 0 or orders_oldest + WINDOW_MS - now_ms,
    math.max(wait_ms, 0),
  }
end

-- Nonces of refused requests: as many as the request limit are recorded per minute. Beyond that only the latest signing time is
-- recorded, and nothing signed at or before it is admitted. Orders have a separate time: a refused order can only be repeated as
-- an order, and must not block other requests.
local refused_field = 'to:' .. ARGV[4]
local refusals = redis.call('HMGET', KEYS[6], 'since', 'count', refused_field)
local refused_since = tonumber(refusals[1] or '0')
local refused_count = tonumber(refusals[2] or '0')
local refused_to = tonumber(refusals[3] or '0')
if refused_since <= now_ms - WINDOW_MS or refused_since > now_ms then
  refused_since = now_ms
  refused_count = 0
end
local function keep_refusals(...)
  redis.call('HSET', KEYS[6], ...)
  redis.call('EXPIRE', KEYS[6], NONCE_TTL_S)
end

local must_survive = signed_at > now_s + 1 or now_s <= lost_at + USABLE_S
local is_over = ARGV[7] == '' and wait_ms > 0 and refused_count >= tonumber(ARGV[5])
if is_over and must_survive and signed_at > refused_to then
  return { 'witness_refusal', epoch }
end
if is_over or ARGV[7] == 'refusal' or signed_at <= refused_to then
  local latest = math.max(refused_to, signed_at, tonumber(ARGV[8]))
  if latest > refused_to then keep_refusals(refused_field, latest) end
  -- By the clock that signed this request: one second after the latest refused one.
  wait_ms = math.max(wait_ms, (latest - signed_at + 1) * 1000)
  return reply('limited')
end

if must_survive and not is_witnessed then
  return { 'witness', epoch }
end
redis.call('SET', KEYS[2], '1', 'EX', NONCE_TTL_S)
if wait_ms > 0 then
  keep_refusals('since', refused_since, 'count', refused_count + 1)
  return reply('limited')
end
count(KEYS[3])
requests = requests + 1
if is_order then
  count(KEYS[4])
  orders = orders + 1
end
return reply('admitted')

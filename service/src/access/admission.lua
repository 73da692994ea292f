-- Admits requests, in one round trip; the same rules as the function admit_many in PostgreSQL. Outside a cluster, requests of any
-- accounts together: in the order given, as if each were a call of its own. In a cluster one at a time, because the keys of one
-- request are in one hash slot: the account's own contain {account_id}, the slot's state key has a tag that hashes to the slot.
--
-- An epoch is a period in which the store has lost nothing. "Witnessed" means: durably recorded in the database.
--
-- KEYS, six per request: 1 state of the slot, 2 the nonce, 3 request times, 4 order times, 5 announced access version, 6 refusals
-- ARGV: requests max, orders max, then six per request:
--       1 signed_at, 2 access version, 3 epoch in which the key was confirmed ('' = just read), 4 is an order (1 or 0),
--       5 what is witnessed so far: '' nothing, 'nonce', or 'refusal' (then 3 is the epoch that asked for it),
--       6 with 'refusal': the time up to which requests are refused
-- Replies with one string per request: verdict, epoch, requests used, oldest leaves ms, orders used, oldest leaves ms, wait ms
local WINDOW_MS = 60000
local USABLE_S = 120
local NONCE_KEPT_S = 600
local NONCE_TTL_S = 720

local requests_max = tonumber(ARGV[1])
local orders_max = tonumber(ARGV[2])
local time = redis.call('TIME')
local now_s = tonumber(time[1])
local now_ms = now_s * 1000 + math.floor(tonumber(time[2]) / 1000)
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')

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

local function admit(keys, args)
  local signed_at = tonumber(args[1])

  -- An epoch never outlives the server process: a restart may have lost the last writes, a promoted replica may never have had
  -- them, and a flush deletes this key along with the rest.
  local state = redis.call('HMGET', keys[1], 'run', 'lost_at', 'purged_to')
  if state[1] ~= run then
    -- Two seconds more than now: nonces signed up to a second ahead are not witnessed, and the clock of a promoted replica
    -- may be a little behind.
    state = { run, tostring(now_s + 2), state[3] or '0' }
    redis.call('HSET', keys[1], 'run', run, 'lost_at', state[2], 'purged_to', state[3])
  end
  local epoch = string.sub(run, 1, 8) .. ':' .. state[2]
  local lost_at = tonumber(state[2])
  local purged_to = tonumber(state[3])
  if now_s <= lost_at then
    return { 'warming', epoch }
  end

  -- A revocation announced here, or one whose announcement was lost in an earlier epoch. Checked once per request: between the
  -- two calls of a witnessed request the result could change, and its nonce is spent by then.
  local is_witnessed = args[5] ~= ''
  local announced = redis.call('GET', keys[5])
  local is_behind = announced and tonumber(announced) > tonumber(args[2])
  if is_witnessed and args[3] ~= epoch then
    -- The epoch of the first call has ended, and announcements made in between are lost.
    return { 'warming', epoch }
  end
  if not is_witnessed and (is_behind or (args[3] ~= '' and args[3] ~= epoch)) then
    return { 'changed', epoch }
  end

  if now_s - NONCE_KEPT_S > purged_to + 30 then
    purged_to = now_s - NONCE_KEPT_S
    redis.call('HSET', keys[1], 'purged_to', purged_to)
  end
  if signed_at <= lost_at or signed_at <= purged_to then
    return { 'forgotten', epoch }
  end

  if redis.call('EXISTS', keys[2]) == 1 then
    return { 'replayed', epoch }
  end

  local is_order = args[4] == '1'
  local requests, requests_oldest = look(keys[3])
  local orders, orders_oldest = look(keys[4])
  local wait_ms = wait(keys[3], requests, requests_max)
  if is_order then
    wait_ms = math.max(wait_ms, wait(keys[4], orders, orders_max))
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
  local refused_field = 'to:' .. args[4]
  local refusals = redis.call('HMGET', keys[6], 'since', 'count', refused_field)
  local refused_since = tonumber(refusals[1] or '0')
  local refused_count = tonumber(refusals[2] or '0')
  local refused_to = tonumber(refusals[3] or '0')
  if refused_since <= now_ms - WINDOW_MS or refused_since > now_ms then
    refused_since = now_ms
    refused_count = 0
  end
  local function keep_refusals(...)
    redis.call('HSET', keys[6], ...)
    redis.call('EXPIRE', keys[6], NONCE_TTL_S)
  end

  local must_survive = signed_at > now_s + 1 or now_s <= lost_at + USABLE_S
  local is_over = args[5] == '' and wait_ms > 0 and refused_count >= requests_max
  if is_over and must_survive and signed_at > refused_to then
    return { 'witness_refusal', epoch }
  end
  if is_over or args[5] == 'refusal' or signed_at <= refused_to then
    local latest = math.max(refused_to, signed_at, tonumber(args[6]))
    if latest > refused_to then keep_refusals(refused_field, latest) end
    -- By the clock that signed this request: one second after the latest refused one.
    wait_ms = math.max(wait_ms, (latest - signed_at + 1) * 1000)
    return reply('limited')
  end

  if must_survive and not is_witnessed then
    return { 'witness', epoch }
  end
  redis.call('SET', keys[2], '1', 'EX', NONCE_TTL_S)
  if wait_ms > 0 then
    keep_refusals('since', refused_since, 'count', refused_count + 1)
    return reply('limited')
  end
  count(keys[3])
  requests = requests + 1
  if is_order then
    count(keys[4])
    orders = orders + 1
  end
  return reply('admitted')
end

local replies = {}
for n = 0, #KEYS / 6 - 1 do
  local k = 6 * n
  local a = 6 * n + 2
  replies[n + 1] = table.concat(
    admit(
      { KEYS[k + 1], KEYS[k + 2], KEYS[k + 3], KEYS[k + 4], KEYS[k + 5], KEYS[k + 6] },
      { ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4], ARGV[a + 5], ARGV[a + 6] }
    ),
    ' '
  )
end
return replies

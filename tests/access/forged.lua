-- Sends well-formed requests of the right time that nobody signed, at a given rate, and counts the answers by status.
-- Arguments: requests per second, and the key id to use; without one every request has a key id of its own.
local ffi = require('ffi')
ffi.cdef('typedef struct { long s; long us; } time_us; int gettimeofday(time_us *, void *);')
local CATCH_UP_MS = 100
local ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
local time = ffi.new('time_us')
local rate, known
local due = 0
-- Global: done() asks every thread for it.
answers = ''
local counts = {}

local function now_ms()
  ffi.C.gettimeofday(time, nil)
  return tonumber(time.s) * 1000 + tonumber(time.us) / 1000
end

local function random(length, letters)
  local text = {}
  for n = 1, length do
    local at = math.random(#letters)
    text[n] = letters:sub(at, at)
  end
  return table.concat(text)
end

function init(args)
  rate = tonumber(args[1])
  known = args[2]
  math.randomseed(now_ms())
end

-- One schedule for all connections: a slow answer on one does not lower the rate.
function delay()
  local now = now_ms()
  due = math.max(due + 1000 / rate, now - CATCH_UP_MS)
  return math.max(0, math.floor(due - now))
end

function request()
  return table.concat({
    'GET /v1/ping HTTP/1.1\r\nHost: flood\r\nX-Api-Key: ', known or ('key_c1_' .. random(26, ALPHABET)),
    '\r\nX-Api-Timestamp: ', string.format('%d', now_ms() / 1000), '\r\nX-Api-Nonce: ', random(32, '0123456789abcdef'),
    '\r\nX-Api-Signature: ', string.rep('f', 64), '\r\n\r\n',
  })
end

local threads = {}
function setup(thread)
  table.insert(threads, thread)
end

function response(status)
  counts[status] = (counts[status] or 0) + 1
  local parts = {}
  for each, count in pairs(counts) do table.insert(parts, string.format('"%d":%d', each, count)) end
  answers = table.concat(parts, ',')
end

function done(summary)
  local errors = summary.errors
  io.write(string.format(
    'result {"us":%d,"answers":{%s},"socket_errors":%d}\n', summary.duration, threads[1]:get('answers'),
    -- Not its time-outs: it takes a connection that waits for its turn for one that waits for an answer.
    errors.connect + errors.read + errors.write
  ))
end

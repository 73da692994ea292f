-- Sends the requests of one file in order. All are of one length, so the file is one string and each request a piece of it.
-- Arguments: the file, the length of a request.
local requests, length, count
local sent = 0

function init(args)
  local file = assert(io.open(args[1], 'rb'))
  requests = file:read('*a')
  file:close()
  length = tonumber(args[2])
  count = #requests / length
end

function request()
  -- Past the end it begins again: a server that stores nonces refuses those, and the run fails.
  local first = (sent % count) * length
  sent = sent + 1
  return requests:sub(first + 1, first + length)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'result {"requests":%d,"us":%d,"p50_us":%d,"p99_us":%d,"not_2xx":%d,"socket_errors":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), errors.status,
    errors.connect + errors.read + errors.write + errors.timeout
  ))
end

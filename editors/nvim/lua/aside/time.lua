--- Times as the server tells them, for a person.
local M = {}

--- Seconds since 1970 of a time in UTC.
---@param time string RFC 3339
local function seconds_of(time)
  local now = os.time()
  -- Both as if they were local, so that the zone makes no difference.
  local shift = os.time(os.date('!*t', now) --[[@as std.osdateparam]]) - now
  return vim.fn.strptime('%Y-%m-%dT%H:%M:%S', time:sub(1, 19)) - shift
end

--- The time as the server tells it.
---@return string RFC 3339
function M.now()
  return os.date('!%Y-%m-%dT%H:%M:%SZ') --[[@as string]]
end

--- A time on the clock of the person.
---@param time string RFC 3339
---@return string
function M.date(time)
  return os.date('%Y-%m-%d %H:%M', seconds_of(time)) --[[@as string]]
end

--- How long ago a time was, in words.
---@param time string RFC 3339
---@return string
function M.age(time)
  local seconds = os.time() - seconds_of(time)
  for _, unit in ipairs({ { 86400, 'day' }, { 3600, 'hour' }, { 60, 'minute' } }) do
    local count = math.floor(seconds / unit[1])
    if count > 0 then return ('%d %s%s ago'):format(count, unit[2], count == 1 and '' or 's') end
  end
  return 'just now'
end

return M

--- What a configuration may call.
local M = {}

--- A short text for a status line: what waits, what runs, what is wrong. Empty where the server does not run.
---@return string
function M.status()
  local client = package.loaded['aside.client']
  if not client or not client.client then
    return ''
  end
  local status = client.status or {}
  local waiting, interrupted = 0, 0
  for _, prompt in ipairs(require('aside.prompt').open()) do
    waiting = waiting + (prompt.resumable and 0 or 1)
    interrupted = interrupted + (prompt.resumable and 1 or 0)
  end
  local parts = { 'Aside' }
  if status.health and status.health ~= 'ok' then
    parts[#parts + 1] = status.health
  end
  if waiting > 0 then
    parts[#parts + 1] = ('%d waiting'):format(waiting)
  elseif require('aside.turn').running() then
    parts[#parts + 1] = 'working'
  elseif interrupted > 0 then
    parts[#parts + 1] = ('%d interrupted'):format(interrupted)
  end
  return table.concat(parts, ' · ')
end

--- Asks, as `:Aside ask` does.
---@param message string
---@param options? { attachments?: table[], new?: boolean }
function M.ask(message, options)
  require('aside.turn').ask(vim.tbl_extend('force', options or {}, { message = message }))
end

--- Shows what waits for an answer, as `:Aside answer` does.
function M.answer()
  require('aside.prompt').answer()
end

--- For those who like to configure by a call: the same as setting `vim.g.aside`.
---@param options? aside.Config
function M.setup(options)
  vim.g.aside = options
end

return M

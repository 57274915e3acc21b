--- Functions for the user's configuration.
local M = {}

--- A short text for a status line: what waits, what runs, what is wrong. Empty where the server does not run.
---@return string
function M.status()
  local client = package.loaded['aside.client']
  if not client or not client.client then return '' end
  local prompts, health = require('aside.prompt').open(), client.status.health
  local waiting, interrupted = 0, {}
  for _, prompt in ipairs(prompts) do
    waiting = waiting + (prompt.resumable and 0 or 1)
    -- A turn may have left several.
    if prompt.resumable then interrupted[prompt.conversationId] = true end
  end
  -- A server warns of one thing alone.
  local parts = { 'Aside', health == 'warning' and 'not trusted' or health == 'error' and 'error' or nil }
  parts[#parts + 1] = waiting > 0 and ('%d waiting'):format(waiting)
    or require('aside.turn').running() and 'working'
    or next(interrupted) and ('%d interrupted'):format(vim.tbl_count(interrupted))
    or nil
  return table.concat(parts, ' · ')
end

--- Asks, as `:Aside ask` does.
---@param message string
---@param options? { attachments?: table[], new?: boolean }
function M.ask(message, options)
  require('aside.turn').ask(vim.tbl_extend('force', options or {}, { message = message }) --[[@as aside.Ask]])
end

return M

--- Functions for the user's configuration.
local M = {}

--- A short text for a status line: what waits, what runs, what is wrong. Empty where the server does not run.
---@return string
function M.status()
  local client = package.loaded['aside.client']
  if not client or not client.client then return '' end
  local prompts, health = require('aside.prompt').open(), client.status.health
  local interrupted = #vim.tbl_filter(function(prompt) return prompt.resumable end, prompts)
  -- A server warns of one thing alone.
  local parts = { 'Aside', health == 'warning' and 'not trusted' or health == 'error' and 'error' or nil }
  parts[#parts + 1] = #prompts > interrupted and ('%d waiting'):format(#prompts - interrupted)
    or require('aside.turn').running() and 'working'
    or interrupted > 0 and ('%d interrupted'):format(interrupted)
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

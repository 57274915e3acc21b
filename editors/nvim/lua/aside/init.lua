--- What a configuration may call.
local M = {}

--- A short text for a status line: what waits, what runs, what is wrong. Empty where the server does not run.
---@return string
function M.status()
  local client = package.loaded['aside.client']
  if not client or not client.client then return '' end
  local parts, health = { 'Aside' }, client.status.health or 'ok'
  local prompts = require('aside.prompt').open()
  local interrupted = #vim.tbl_filter(function(prompt) return prompt.resumable end, prompts)
  parts[2] = health ~= 'ok' and health or nil
  if #prompts > interrupted then
    parts[#parts + 1] = ('%d waiting'):format(#prompts - interrupted)
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
  require('aside.turn').ask(vim.tbl_extend('force', options or {}, { message = message }) --[[@as aside.Ask]])
end

return M

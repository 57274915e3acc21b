--- Keys of a file's buffer while the person looks at a change of it.
local config = require('aside.config')

local M = {}

--- Sets keys, until the person types in the buffer, or they are released: a map that the buffer had comes back.
---@param acts table<string, fun()> by names of `aside.Keys`
---@param typed fun() what is done when the person types in the buffer: who does has turned away
---@return fun() release
function M.hold(buf, acts, typed)
  local before = {}
  for name, act in pairs(acts) do
    local key = config.get().keys[name]
    if key then
      before[key] = vim.api.nvim_buf_call(buf, function() return vim.fn.maparg(key, 'n', false, true) end)
      config.map(name, buf, act)
    end
  end
  local away = vim.api.nvim_create_autocmd('InsertEnter', { buffer = buf, callback = function() typed() end })
  return function()
    pcall(vim.api.nvim_del_autocmd, away)
    if not vim.api.nvim_buf_is_valid(buf) then return end
    vim.api.nvim_buf_call(buf, function()
      for key, map in pairs(before) do
        pcall(vim.keymap.del, 'n', key, { buffer = buf })
        if map.buffer == 1 then vim.fn.mapset('n', false, map) end
      end
    end)
  end
end

return M

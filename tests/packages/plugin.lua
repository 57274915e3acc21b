--- Installs what is in a folder by the plugin, as a person does who says yes, and asks: nvim -l plugin.lua PLUGIN FOLDER
local plugin, folder = arg[1], arg[2]
vim.opt.runtimepath:prepend(plugin)
vim.cmd('runtime plugin/aside.lua')
vim.ui.select = function(items, _, done) done(items[1], 1) end
vim.g.aside = { release = folder }
vim.cmd('Aside ask Are you there?')
local function shown()
  local view = require('aside.view').of()
  return view and table.concat(vim.api.nvim_buf_get_lines(view.buf, 0, -1, true), '\n') or ''
end
local answered = vim.wait(60000, function() return shown():find('I am here.', 1, true) ~= nil end, 20)
local found = require('aside.server').find()
local is_kept = found ~= nil and found.path == require('aside.server').kept()
io.stdout:write(
  answered and is_kept and 'answered\n' or vim.api.nvim_exec2('messages', { output = true }).output .. '\n'
)
require('aside.client').stop()
os.exit(answered and is_kept and 0 or 1)

--- Plays the plugin for Neovim with a program of this system: nvim --clean -n -l plugin.lua PLUGIN PROGRAM SCRIPT
--- A question is answered, and a file with CRLF is changed in its buffer. SCRIPT is `plugin.toml`, beside this file.
local plugin, program, script = arg[1], arg[2], arg[3]
vim.opt.runtimepath:prepend(plugin)
vim.cmd('runtime plugin/aside.lua')
vim.ui.select = function(items, _, done) done(items[1], 1) end
vim.env.ASIDE_ASSISTANT__MODEL = 'rehearsal/' .. script
vim.g.aside = { server = program }

local folder = vim.fn.tempname()
vim.fn.mkdir(folder, 'p')
vim.cmd.cd(folder)
local file = assert(io.open('notes.txt', 'wb'))
file:write('one\r\ntwo\r\n')
file:close()
assert(vim.system({ program, 'trust', '--yes' }, { cwd = folder }):wait().code == 0, 'the folder is not trusted')
vim.cmd.edit('notes.txt')

local function shown()
  local view = require('aside.view').of()
  return view and table.concat(vim.api.nvim_buf_get_lines(view.buf, 0, -1, true), '\n') or ''
end
local function wait(what, is_so)
  if vim.wait(60000, is_so, 20) then return end
  io.stdout:write(('not so: %s\n%s\n%s\n'):format(what, shown(), vim.api.nvim_exec2('messages', { output = true }).output))
  os.exit(1)
end

vim.cmd('Aside ask Are you there?')
wait('it answers', function() return shown():find('I am here.', 1, true) ~= nil end)
vim.cmd('Aside mode edits')
vim.cmd('Aside ask Change the second line.')
wait('it changes the buffer', function() return vim.fn.getline(2) == '2' end)
wait('it says so', function() return shown():find('Changed.', 1, true) ~= nil end)
vim.cmd('silent write')
local bytes = assert(io.open('notes.txt', 'rb')):read('*a')
assert(bytes == 'one\r\n2\r\n', vim.inspect(bytes))
local found = assert(require('aside.server').find())
require('aside.client').stop()
wait('the server ends', function() return not require('aside.client').alive() end)
io.stdout:write(('ok the plugin asks, and changes a file with CRLF, with %s\n'):format(found.version))
os.exit(0)

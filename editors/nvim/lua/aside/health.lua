--- `:checkhealth aside`. What the server can tell of itself, its `doctor` says.
local client = require('aside.client')
local config = require('aside.config')
local log = require('aside.log')
local server = require('aside.server')

local M = {}

local health = vim.health

--- The server's own checks, a line each: how it is, what was looked at, and after `; ` what to do.
local function doctor(path)
  local folder = client.root(vim.api.nvim_get_current_buf())
  local ok, result = pcall(
    function() return vim.system({ path, 'doctor', '--cwd', folder }, { text = true, timeout = 20000 }):wait() end
  )
  if not ok or (result.stdout or '') == '' then
    return health.error(('`%s doctor` says nothing'):format(path), { 'look at what it prints in a terminal' })
  end
  for line in result.stdout:gmatch('[^\n]+') do
    local state, text = line:match('^(%a+)%s+(.*)$')
    local say = state == 'ok' and health.ok or state == 'warning' and health.warn or health.error
    local found, advice = (text or line):match('^(.-); (.*)$')
    say(state ~= 'ok' and found or text or line, advice)
  end
end

local function connection()
  local running, status = client.client, client.status
  if not running then return health.info('the server does not run; :Aside ask starts it') end
  local folders = vim.tbl_map(function(folder) return vim.uri_to_fname(folder.uri) end, running.workspace_folders or {})
  health.ok('the server runs for ' .. table.concat(folders, ', '))
  if status.health and status.health ~= 'ok' then
    local untrusted = status.message:find('not trusted')
    health.warn(status.message, untrusted and { ':Aside trust shows what trust means' } or {})
  end
  health.info('model: ' .. (require('aside.turn').choice.model or status.model or 'none yet'))
end

function M.check()
  health.start('Neovim')
  if vim.fn.has('nvim-0.10') == 1 then
    health.ok(tostring(vim.version()))
  else
    health.error('Neovim is older than 0.10', { 'install a newer one' })
  end

  health.start('Configuration')
  local _, wrong = config.read()
  for _, sentence in ipairs(wrong) do
    health.error(sentence, { ':help aside.Config has all fields' })
  end
  if #wrong == 0 then
    health.ok(vim.g.aside and 'vim.g.aside is as it should be' or 'vim.g.aside is not set, and need not be')
  end

  health.start('Server')
  local found, reasons = server.find()
  for _, reason in ipairs(reasons) do
    health.error(reason, { server.advice })
  end
  if found then
    health.ok(('%s, version %s, found by %s'):format(found.path, found.version, found.source))
    doctor(found.path)
  end

  health.start('Connection')
  connection()

  health.start('Log')
  health.info(log.path .. ' has when the server was started, and how it ended')
  health.info(vim.lsp.log.get_filename() .. ' has what the server prints')
end

return M

--- `:checkhealth aside`. What the server can tell of itself, its `doctor` says.
local client = require('aside.client')
local config = require('aside.config')
local log = require('aside.log')
local server = require('aside.server')

local M = {}

local health = vim.health

--- What a person does here in place of what `doctor` advises for a terminal.
local ADVICE = { workspace = ':Aside trust shows what trust means' }

--- The server's own checks, a line each: how it is, what was looked at, and after `; ` what to do.
local function doctor(path)
  local folder = client.root(vim.api.nvim_get_current_buf())
  local printed = server.run({ path, 'doctor', '--cwd', folder }, 20000).stdout or ''
  if printed == '' then health.error(('`%s doctor` says nothing'):format(path), { 'run it in a terminal' }) end
  for line in printed:gmatch('[^\n]+') do
    local state, text = line:match('^(%a+)%s+(.*)$')
    local say = state == 'ok' and health.ok or state == 'warning' and health.warn or health.error
    local found, advice = (text or line):match('^(.-); (.*)$')
    local about = line:match('^%a+%s+(%a+): ')
    -- Neither is about Neovim.
    local elsewhere = about == 'terminal' or about == 'editors'
    local advised = state == 'warning' and ADVICE[about] or advice
    if not elsewhere then
      say(state ~= 'ok' and found or text or line, advised --[[@as string]])
    end
  end
end

local function connection()
  local running, status = client.client, client.status
  if not running then return health.info('the server does not run; :Aside ask starts it') end
  local folders = vim.tbl_map(function(folder) return vim.uri_to_fname(folder.uri) end, running.workspace_folders or {})
  health.ok('the server runs for ' .. table.concat(folders, ', '))
  -- One of health `warning` has a workspace that is not trusted, which is said above.
  if status.health == 'error' then health.warn(status.message) end
  local allowed = require('aside.tools').allowed
  if vim.fn.filereadable(allowed) == 1 then
    health.info(('%s says which tools of the editor run unasked'):format(allowed))
  end
  health.info('model: ' .. (require('aside.view').choice.model or status.model or 'none yet'))
end

function M.check()
  health.start('Neovim')
  local say = vim.fn.has('nvim-0.10') == 1 and health.ok or health.error
  say(tostring(vim.version()))

  health.start('Configuration')
  local _, wrong = config.read()
  vim.iter(wrong):each(function(sentence) health.error(sentence, { ':help aside.Config has all fields' }) end)
  if #wrong == 0 then
    health.ok('vim.g.aside is ' .. (vim.g.aside and 'as it should be' or 'not set, and need not be'))
  end

  health.start('Server')
  local found, reasons = server.find()
  vim.iter(reasons):each(function(reason) health.error(reason, { server.advice }) end)
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

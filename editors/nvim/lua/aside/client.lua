--- The connection to the server: starts it, speaks for it, and starts it again after a crash.
local config = require('aside.config')
local log = require('aside.log')
local server = require('aside.server')

local M = {
  client = nil, ---@type vim.lsp.Client?
  --- The last `aside/status`.
  status = {}, ---@type { health?: string, busy?: boolean, message?: string, model?: string, pendingPrompts?: integer }
}

--- After so many crashes in so many seconds it is not started again.
local CRASHES, WITHIN = 5, 180

--- Milliseconds that it may take to be ready, and to end when it is asked to.
local READY, ENDS = 30000, 2000

local since_11 = vim.fn.has('nvim-0.11') == 1
local waiting = {} ---@type { act?: fun(), failed?: fun() }[] what is to be done when the server is ready, and where it is not
local run ---@type aside.Run?
local installs = false -- whether the person is asked for the program of a release, or it is fetched
local crashes = {} ---@type integer[] seconds

--- A process of the server, from its start to its end.
---@class aside.Run
---@field pid? integer
---@field rpc? vim.lsp.rpc.PublicClient
---@field client? vim.lsp.Client when it is ready
---@field stopped? boolean whether it ends because it is to
---@field over? boolean

--- Highlight groups, each a link that a colour scheme or the user may change.
M.colours = {
  AsideAdd = 'DiffAdd',
  AsideDelete = 'DiffDelete',
  AsideWord = 'DiffText',
  AsideHeader = 'Comment',
  AsideSign = 'DiagnosticSignWarn',
  AsideWaiting = 'DiagnosticWarn',
  AsideRunning = 'DiagnosticInfo',
}

local function define_colours()
  vim.iter(M.colours):each(function(name, link) vim.api.nvim_set_hl(0, name, { link = link, default = true }) end)
end

--- Calls a method of a client, which in Neovim 0.10 is a function without a self.
---@param client table
---@param method 'request'|'notify'|'stop'|'is_stopped'
function M.call(client, method, ...)
  if since_11 then return client[method](client, ...) end
  return client[method](...)
end

--- Tells the user's autocommands, and status lines.
function M.emit(name, data)
  vim.api.nvim_exec_autocmds('User', { pattern = name, modeline = false, data = data })
  vim.cmd.redrawstatus({ bang = true })
end

--- Whether the server should know of a buffer: a file's, not a page that a plugin shows.
local function is_file(buf)
  return vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and vim.api.nvim_buf_get_name(buf) ~= ''
end

--- The buffer of a file, if it is loaded.
---@param uri string
---@return integer?
function M.buffer(uri)
  local name = vim.uri_to_fname(uri)
  return vim
    .iter(vim.api.nvim_list_bufs())
    :find(function(buf) return vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_get_name(buf) == name end)
end

--- Where the person works: of the windows with files, that which was used last.
---@return integer buf
---@return integer line of its cursor
function M.code()
  local best, used = vim.api.nvim_get_current_win(), -1
  local function kind(win) return vim.bo[vim.api.nvim_win_get_buf(win)].buftype end
  for _, win in ipairs(kind(best) ~= '' and vim.api.nvim_tabpage_list_wins(0) or {}) do
    local at = vim.fn.getbufinfo(vim.api.nvim_win_get_buf(win))[1].lastused
    if kind(win) == '' and at > used then
      best, used = win, at
    end
  end
  return vim.api.nvim_win_get_buf(best), vim.api.nvim_win_get_cursor(best)[1]
end

--- Goes to the window of the code, where a file can be shown; where there is none beside answers, one is made.
function M.to_code()
  local buf = M.code()
  local win = vim.fn.bufwinid(buf)
  if vim.bo[buf].buftype == '' and not vim.wo[win].winfixbuf then return vim.api.nvim_set_current_win(win) end
  vim.cmd('topleft vertical new')
  vim.bo.bufhidden = 'wipe'
end

--- Shows a file in the window of the code. One that is there already is not read again.
---@param name string
function M.open(name)
  M.to_code()
  local is_there = vim.api.nvim_buf_get_name(0) == vim.fn.fnamemodify(name, ':p')
  if is_there then return end
  vim.cmd.edit(vim.fn.fnameescape(vim.fn.fnamemodify(name, ':.')))
  -- A buffer that a language server told of has its whole path for a name until Neovim shortens all names anew.
  vim.fn.chdir(vim.fn.getcwd())
end

--- The folder to work in.
function M.root(buf) return is_file(buf) and vim.fs.root(buf, config.get().root_markers) or vim.fn.getcwd() end

local function add_folder(client, path)
  local folder = { uri = vim.uri_from_fname(path), name = vim.fs.basename(path) }
  client.workspace_folders = client.workspace_folders or {}
  if vim.iter(client.workspace_folders):any(function(known) return known.uri == folder.uri end) then return end
  table.insert(client.workspace_folders, folder)
  M.call(client, 'notify', 'workspace/didChangeWorkspaceFolders', { event = { added = { folder }, removed = {} } })
end

local function attach(buf)
  local client = M.client
  if client and is_file(buf) and not vim.lsp.buf_is_attached(buf, client.id) then
    add_folder(client, M.root(buf))
    vim.lsp.buf_attach_client(buf, client.id)
  end
end

---@param client vim.lsp.Client
local function on_init(client)
  -- Messages from before the stop may arrive afterwards.
  if not run or run.stopped or run.rpc ~= client.rpc then return end
  M.client, run.client = client, client
  log.write('started the server')
  vim.schedule(function()
    if M.client ~= client then return end
    vim.tbl_map(attach, vim.api.nvim_list_bufs())
    define_colours()
    local group = vim.api.nvim_create_augroup('aside', {})
    vim.api.nvim_create_autocmd('ColorScheme', { group = group, callback = define_colours })
    local function opened(event) attach(event.buf) end
    local events = { 'BufReadPost', 'BufNewFile', 'BufFilePost' }
    vim.api.nvim_create_autocmd(events, { group = group, callback = opened })
    require('aside.tools').watch()
    require('aside.prompt').load()
    local acts = waiting
    waiting = {}
    vim.iter(acts):each(function(each)
      if each.act then each.act() end
    end)
  end)
end

--- Nothing that waits for the server is done.
local function drop_waiting()
  local dropped = waiting
  waiting = {}
  for _, each in ipairs(dropped) do
    if each.failed then each.failed() end
  end
end

---@param hint? string
local function give_up(why, hint)
  drop_waiting()
  log.fail(why, hint)
end

--- Ends a process, whatever it does, and what it started.
---@param this aside.Run
local function kill(this)
  if this.over or not this.pid then return end
  -- Neovim starts each as the leader of a group; where it is none there are no groups.
  if not vim.uv.kill(-this.pid, 'sigkill') then vim.uv.kill(this.pid, 'sigkill') end
end

---@param this aside.Run
local function on_exit(this, code, signal)
  if run ~= this then return end
  run, M.client, M.status = nil, nil, {}
  if vim.v.exiting ~= vim.NIL then return end
  log.write(('the server ended with code %d, signal %d'):format(code, signal))
  local crashed = not this.stopped and (code ~= 0 or signal ~= 0) and signal ~= 15
  local ran = require('aside.turn').running() ~= nil
  require('aside.prompt').abandon()
  require('aside.turn').abandon(crashed and 'The server crashed.' or 'The server was stopped.')
  if not this.client and not this.stopped then
    return give_up('the server did not start; see :LspLog', ' — :checkhealth aside')
  end
  -- The server starts again for requests that came since then.
  if not crashed then return #waiting > 0 and M.ready() end
  local now = os.time()
  crashes = vim.tbl_filter(function(at) return now - at < WITHIN end, crashes)
  crashes[#crashes + 1] = now
  if #crashes > CRASHES then
    return give_up(('the server crashed %d times and stays down'):format(#crashes), ' — :Aside ask')
  end
  local hint = ran and ' — :Aside resume goes on' or nil
  M.ready(function() log.say('the server crashed and is back', 'WarningMsg', hint) end)
end

--- A server that hangs would outlive Neovim.
local function leave()
  local this = run
  if not this then return end
  if this.client then vim.wait(ENDS, function() return this.over end, 5) end
  kill(this)
end

---@param this aside.Run
local function watch(this)
  vim.defer_fn(function()
    if this.over or this.client then return end
    log.write(('the server was not ready within %d s, and was ended'):format(READY / 1000))
    kill(this)
  end, READY)
  local group = vim.api.nvim_create_augroup('aside.leave', {})
  vim.api.nvim_create_autocmd('VimLeavePre', { group = group, callback = leave })
end

--- Starts the program, and tells of its end.
local function start(dispatchers)
  local found = assert(server.find(), 'Aside: there is no server; ' .. server.advice)
  local this, exit = {}, dispatchers.on_exit ---@type aside.Run
  dispatchers.on_exit = function(code, signal)
    this.over = true
    vim.schedule(function() on_exit(this, code, signal) end)
    -- Of a crash Neovim would say so much that it waits for Enter.
    exit(0, 0)
  end
  local me = vim.uv.os_getpid()
  local before = vim.api.nvim_get_proc_children(me)
  this.rpc = vim.lsp.rpc.start({ found.path, 'lsp', '--stdio' }, dispatchers)
  this.pid = vim
    .iter(vim.api.nvim_get_proc_children(me))
    :find(function(child) return not vim.tbl_contains(before, child) end)
  run = this
  watch(this)
  return this.rpc
end

--- The configuration for `vim.lsp.start` and `vim.lsp.enable`.
---@return vim.lsp.Config
function M.config()
  local tools = require('aside.tools')
  local mine = { config = vim.tbl_extend('force', vim.empty_dict(), config.get().settings) }
  local aside = { version = 1, prompt = true, secret = true, save = true, editorTools = tools.served() }
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  return {
    name = 'aside',
    cmd = start,
    -- An edit is refused where the server does not know yet what was typed.
    flags = { debounce_text_changes = 0, exit_timeout = false },
    root_dir = function(buf, on_dir)
      if is_file(buf) and server.find() then on_dir(M.root(buf)) end
    end,
    -- One server for all folders; each turn names its own.
    reuse_client = function(client, other)
      local same = client.name == 'aside' and not M.call(client, 'is_stopped')
      if same and other.root_dir then add_folder(client, other.root_dir) end
      return same
    end,
    capabilities = vim.tbl_deep_extend('force', capabilities, { experimental = { aside = aside } }),
    before_init = function(params, chosen)
      tools.apply(chosen.settings)
      params.initializationOptions = chosen.settings.aside
    end,
    settings = { aside = mine },
    handlers = require('aside.handlers'),
    on_init = on_init,
  }
end

--- Does something when the server is ready, and starts it where it does not run. Where it cannot be, says why.
---@param act? fun()
---@param failed? fun() done in its place where there will be no server
function M.ready(act, failed)
  if run and run.client and not run.stopped and not run.over then return act and act() end
  if act then waiting[#waiting + 1] = { act = act, failed = failed } end
  -- The action runs when that process is ready, and `on_exit` decides if it ends before.
  if run or installs then return end
  local found, reasons = server.find()
  if not found then
    vim.tbl_map(log.write, reasons)
    local mine = config.get()
    if mine.release == '' or mine.server ~= '' then
      return give_up('no server; :checkhealth aside says what to do; ' .. reasons[1])
    end
    installs = true
    return require('aside.install').run(nil, function(installed)
      installs = false
      if installed then return M.ready() end
      drop_waiting()
    end)
  end
  log.write(('starting %s, found by %s, version %s'):format(found.path, found.source, found.version))
  local chosen = since_11 and vim.deepcopy(vim.lsp.config['aside']) or M.config() ---@diagnostic disable-line: undefined-field
  chosen.root_dir = M.root((M.code()))
  if since_11 then
    vim.lsp.start(chosen, { attach = false })
  else
    vim.lsp.start_client(chosen) ---@diagnostic disable-line: deprecated
  end
end

--- Sends a request.
---@param done? fun(result: any)
---@param failed? fun(error: lsp.ResponseError) without it, the server's reason is said below
function M.request(method, params, done, failed)
  if not M.client or run and run.stopped then return log.fail('the server does not run; :Aside ask starts it') end
  failed = failed or function(err) log.fail(err.message) end
  -- Without a buffer, changes of all buffers go first: the server never acts on old text.
  M.call(M.client, 'request', method, next(params) and params or vim.empty_dict(), function(err, result)
    if err then return failed(err) end
    if done then done(result) end
  end)
end

--- Whether there is a process of the server: one that starts, runs or ends.
function M.alive() return run ~= nil end

--- Stops the server, whatever it does. What runs is interrupted and can be resumed; what waits for its start is dropped.
function M.stop()
  drop_waiting()
  local this = run
  if not this then return end
  this.stopped = true
  if not this.client then return kill(this) end
  M.call(this.client, 'stop')
  vim.defer_fn(function() kill(this) end, ENDS)
end

return M

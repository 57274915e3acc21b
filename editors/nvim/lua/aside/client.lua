--- The connection to the server: starts it, speaks for it, and starts it again after a crash.
local config = require('aside.config')
local log = require('aside.log')
local server = require('aside.server')

local M = {
  ---@type vim.lsp.Client?
  client = nil,
  --- The last `aside/status`.
  ---@type { health: string, busy: boolean, message?: string, model?: string, pendingPrompts: integer }?
  status = nil,
  --- What became of the server, the newest last; ten are kept.
  ---@type string[]
  history = {},
}

--- After so many crashes in so many seconds it is not started again.
local CRASHES, WITHIN = 5, 180

local since_11 = vim.fn.has('nvim-0.11') == 1
local waiting = {} ---@type fun()[] what is to be done when the server is ready
local starting = false
local crashes = {} ---@type integer[] seconds

---@param text string
local function note(text)
  log.write(text)
  M.history[#M.history + 1] = os.date('!%H:%M:%S ') .. text
  if #M.history > 10 then
    table.remove(M.history, 1)
  end
end

--- Tells the user's autocommands, and status lines.
---@param name string
---@param data? table
function M.emit(name, data)
  vim.api.nvim_exec_autocmds('User', { pattern = name, modeline = false, data = data })
  vim.cmd.redrawstatus({ bang = true })
end

--- The folder to work in.
---@param buf integer
---@return string
function M.root(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  local found = vim.bo[buf].buftype == '' and name ~= '' and vim.fs.root(buf, config.get().root_markers)
  return found or vim.fn.getcwd()
end

--- Whether the server should know of a buffer: a file's, not a page that a plugin shows.
local function is_file(buf)
  return vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and vim.api.nvim_buf_get_name(buf) ~= ''
end

---@param client vim.lsp.Client
---@param folder string
local function add_folder(client, folder)
  local uri = vim.uri_from_fname(folder)
  for _, known in ipairs(client.workspace_folders or {}) do
    if known.uri == uri then
      return
    end
  end
  local added = { uri = uri, name = vim.fs.basename(folder) }
  client.workspace_folders = client.workspace_folders or {}
  table.insert(client.workspace_folders, added)
  M.notify('workspace/didChangeWorkspaceFolders', { event = { added = { added }, removed = {} } })
end

---@param buf integer
local function attach(buf)
  local client = M.client
  if client and is_file(buf) and not vim.lsp.buf_is_attached(buf, client.id) then
    add_folder(client, M.root(buf))
    vim.lsp.buf_attach_client(buf, client.id)
  end
end

---@param client vim.lsp.Client
local function on_init(client)
  M.client, starting = client, false
  local found = server.find()
  note('started aside ' .. (found and found.version or ''))
  vim.schedule(function()
    if M.client ~= client then
      return
    end
    vim.tbl_map(attach, vim.api.nvim_list_bufs())
    local group = vim.api.nvim_create_augroup('aside', {})
    local define = require('aside.colours').define
    define()
    vim.api.nvim_create_autocmd('ColorScheme', { group = group, callback = define })
    vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufFilePost' }, {
      group = group,
      callback = function(event)
        attach(event.buf)
      end,
    })
    require('aside.prompt').load()
    local acts = waiting
    waiting = {}
    for _, act in ipairs(acts) do
      act()
    end
  end)
end

---@param code integer
---@param signal integer
local function on_exit(code, signal)
  local leaving = vim.v.exiting ~= vim.NIL
  local initialised = M.client ~= nil
  M.client, M.status, starting = nil, nil, false
  if leaving then
    return
  end
  note(('the server ended with code %d, signal %d'):format(code, signal))
  local crashed = (code ~= 0 or signal ~= 0) and signal ~= 15
  require('aside.prompt').abandon()
  require('aside.turn').abandon(crashed and 'The server crashed.' or 'The server was stopped.')
  if not crashed then
    return
  end
  if not initialised then
    waiting = {}
    return log.fail('the server did not start; :checkhealth aside says more, :LspLog has what it said')
  end
  local now = os.time()
  crashes = vim.tbl_filter(function(at)
    return now - at < WITHIN
  end, crashes)
  crashes[#crashes + 1] = now
  if #crashes > CRASHES then
    waiting = {}
    return log.fail(
      ('the server crashed %d times in %d s and stays down; :Aside ask starts it'):format(#crashes, WITHIN)
    )
  end
  if #crashes == 1 or #waiting == 0 then
    waiting[#waiting + 1] = function()
      log.say('the server crashed and is back; :Aside resume goes on with what it did', 'WarningMsg')
    end
  end
  M.ready()
end

--- What `vim.lsp.start` and `vim.lsp.enable` take.
---@return vim.lsp.ClientConfig
function M.config()
  local settings = config.get().settings
  local mine = next(settings) and settings or vim.empty_dict()
  local capabilities = {
    experimental = {
      aside = { version = 1, prompt = true, secret = true, save = true, tools = require('aside.tools').declared() },
    },
  }
  return {
    name = 'aside',
    cmd = function(dispatchers)
      local found = assert(server.find(), 'Aside: there is no server; ' .. server.advice)
      local exit = dispatchers.on_exit
      dispatchers.on_exit = function(code, signal)
        vim.schedule(function()
          on_exit(code, signal)
        end)
        -- Of a crash Neovim would say so much that it waits for Enter.
        exit(0, 0)
      end
      return vim.lsp.rpc.start({ found.path, 'lsp', '--stdio' }, dispatchers)
    end,
    root_dir = function(buf, on_dir)
      if is_file(buf) and server.find() then
        on_dir(M.root(buf))
      end
    end,
    -- One server for all folders; each turn names its own.
    reuse_client = function(client, other)
      local same = client.name == 'aside' and not M.is_stopped(client)
      if same and other.root_dir then
        add_folder(client, other.root_dir)
      end
      return same
    end,
    capabilities = vim.tbl_deep_extend('force', vim.lsp.protocol.make_client_capabilities(), capabilities),
    init_options = { config = mine },
    settings = { aside = { config = mine } },
    handlers = require('aside.handlers'),
    on_init = on_init,
  }
end

---@param client vim.lsp.Client
function M.is_stopped(client)
  if since_11 then
    return client:is_stopped()
  end
  return client.is_stopped() ---@diagnostic disable-line: missing-parameter
end

--- Does something when the server is ready, and starts it where it does not run. Where it cannot be, says why.
---@param act? fun()
function M.ready(act)
  if M.client and not M.is_stopped(M.client) then
    return act and act()
  end
  waiting[#waiting + 1] = act
  if starting then
    return
  end
  local found, reasons = server.find()
  if not found then
    waiting = {}
    vim.tbl_map(log.write, reasons)
    return log.fail(('no server: %s; %s'):format(reasons[#reasons], ':checkhealth aside says what to do'))
  end
  log.write(('starting %s, found by %s, version %s'):format(found.path, found.source, found.version))
  starting = true
  local chosen = since_11 and vim.deepcopy(vim.lsp.config.aside) or M.config()
  chosen.root_dir = M.root(vim.api.nvim_get_current_buf())
  if since_11 then
    vim.lsp.start(chosen, { attach = false })
  else
    vim.lsp.start_client(chosen) ---@diagnostic disable-line: deprecated
  end
end

--- Sends a request.
---@param method string
---@param params table
---@param done? fun(result: any)
---@param failed? fun(error: lsp.ResponseError) without it, the server's reason is said below
function M.request(method, params, done, failed)
  local client = M.client
  if not client then
    return log.fail('the server does not run; :Aside ask starts it')
  end
  local function handle(err, result)
    if err then
      (failed or function()
        log.fail(err.message)
      end)(err)
    elseif done then
      done(result)
    end
  end
  -- Without a buffer, changes of all buffers go first: the server never acts on old text.
  M.send(client, method, next(params) and params or vim.empty_dict(), handle)
end

--- Sends a request of any client.
---@param client vim.lsp.Client
---@param method string
---@param params table
---@param handle lsp.Handler
---@param buf? integer
function M.send(client, method, params, handle, buf)
  if since_11 then
    client:request(method, params, handle, buf)
  else
    client.request(method, params, handle, buf) ---@diagnostic disable-line
  end
end

---@param method string
---@param params table
function M.notify(method, params)
  if since_11 then
    M.client:notify(method, params)
  else
    M.client.notify(method, params) ---@diagnostic disable-line: param-type-mismatch
  end
end

--- Stops the server. What runs is interrupted and can be resumed.
function M.stop()
  if M.client then
    if since_11 then
      M.client:stop()
    else
      M.client.stop() ---@diagnostic disable-line: missing-parameter
    end
  end
end

return M

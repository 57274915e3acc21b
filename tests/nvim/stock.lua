--- Types a numbered list in insert mode into a Neovim that has no plugin, only its own client of language servers, while
--- Aside asks whether commands may run and files may change: nothing is allowed by it.
--- nvim --clean -n -l stock.lua, with ASIDE set. Prints `N passed, N failed`.

--- How long anything may take that is waited for, in milliseconds.
local PATIENCE = tonumber(vim.env.PATIENCE) or 60000

local SCRIPT = [=[
[[reply]]
when = { step = 1 }
say = [
    { call = "run_command", id = "one", arguments = { command = "touch ran1" } },
    { call = "run_command", id = "two", arguments = { command = "touch ran2" } },
    { call = "write_file", id = "three", arguments = { path = "written", content = "x" } },
]
[[reply]]
repeat = true
say = [{ text = "Over." }]
]=]

local function workspace()
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder .. '/work/.git', 'p')
  vim.fn.mkdir(folder .. '/home', 'p')
  vim.fn.writefile({ 'Shopping' }, folder .. '/work/a.txt')
  vim.fn.writefile(vim.split(SCRIPT, '\n'), folder .. '/script.toml')
  local env = {
    HOME = folder .. '/home',
    TERM = 'xterm-256color',
    ASIDE_ASSISTANT__MODEL = 'rehearsal/' .. folder .. '/script.toml',
  }
  for _, name in ipairs({ 'CONFIG', 'DATA', 'STATE', 'CACHE' }) do
    env['XDG_' .. name .. '_HOME'] = folder .. '/home/' .. name:lower()
  end
  assert(vim.system({ vim.env.ASIDE, 'trust', '--yes' }, { cwd = folder .. '/work', env = env }):wait().code == 0)
  return folder, env
end

local function wait(what, condition) assert(vim.wait(PATIENCE, condition, 2), 'waited in vain: ' .. what) end

--- A Neovim on a terminal, and the channel by which it is told what to do.
local function start(folder, env)
  local socket = folder .. '/socket'
  local terminal = vim.fn.jobstart(
    { vim.v.progpath, '--clean', '-n', '--listen', socket, 'a.txt' },
    { pty = true, width = 90, height = 26, cwd = folder .. '/work', env = env, on_stdout = function() end }
  )
  local channel
  wait('Neovim starts', function()
    local ok, connected = pcall(vim.fn.sockconnect, 'pipe', socket, { rpc = true })
    channel = ok and connected
    return ok
  end)
  return terminal, channel
end

local function lua(channel, code, ...) return vim.rpcrequest(channel, 'nvim_exec_lua', code, { ... }) end

--- What is on record of the turn.
local function log(folder)
  local files = vim.fn.globpath(folder .. '/home/state', '**/events.jsonl', false, true)
  return #files == 0 and '' or table.concat(vim.fn.readfile(files[1]), '\n')
end

local function opened(folder) return select(2, log(folder):gsub('"type":"prompt_opened"', '')) end

local function play()
  local folder, env = workspace()
  local terminal, channel = start(folder, env)
  lua(channel, "vim.lsp.start({ name = 'aside', cmd = { ... , 'lsp' }, root_dir = vim.fn.getcwd() })", vim.env.ASIDE)
  wait(
    'the server begins',
    function() return lua(channel, 'local it = vim.lsp.get_clients()[1]; return it ~= nil and it.initialized == true') end
  )
  local function mode() return vim.rpcrequest(channel, 'nvim_get_mode') end
  -- What a message asks is read on the command line.
  local function blocks() return mode().blocking or mode().mode:find('^[cr]') ~= nil end
  vim.fn.chansend(terminal, 'o')
  wait('insert mode', function() return mode().mode == 'i' end)
  lua(
    channel,
    [[vim.lsp.get_clients()[1]:request(
      'workspace/executeCommand',
      { command = 'aside.server.ask', arguments = { { message = 'Go' } } },
      function() end
    )]]
  )
  -- Each message is met by a line of the list; between them it is typed on.
  local met = 0
  for number = 1, 9 do
    if met < 3 then wait('a message comes', blocks) end
    met = met + (blocks() and 1 or 0)
    for key in (number .. '. eggs\r'):gmatch('.') do
      vim.fn.chansend(terminal, key)
      vim.wait(2)
    end
  end
  wait('all that is asked is on record', function() return opened(folder) >= 3 end)
  for _, name in ipairs({ 'ran1', 'ran2', 'written' }) do
    assert(not vim.uv.fs_stat(folder .. '/work/' .. name), name .. ' is there')
  end
  local record = log(folder)
  for _, word in ipairs({ 'once', 'turn', 'always' }) do
    assert(not record:find(('"answer":"%s"'):format(word), 1, true), 'allowed: ' .. word .. '\n' .. record)
  end
  assert(met >= 3, 'only ' .. met .. ' messages came')
  vim.fn.jobstop(terminal)
  vim.fn.delete(folder, 'rf')
end

local ok, why = xpcall(play, debug.traceback)
if not ok then io.write('FAILED a numbered list allows nothing\n', why, '\n') end
io.write(ok and '1 passed, 0 failed\n' or '0 passed, 1 failed\n')
os.exit(ok and 0 or 1)

--- Types a numbered list in insert mode into a Neovim that has no plugin, only its own client of language servers, while
--- Aside asks whether commands may run and files may change, and while it asks questions: nothing is allowed by it, and
--- nothing answered.
--- nvim --clean -n -l stock.lua, with ASIDE set. Prints `N passed, N failed`.

--- How long anything may take that is waited for, in milliseconds.
local PATIENCE = tonumber(vim.env.PATIENCE) or 60000

local SCRIPT = [=[
[[reply]]
when = { step = 1 }
say = [
%s
]
[[reply]]
repeat = true
say = [{ text = "Over." }]
]=]

--- What the model calls, and what is on record when all of it was asked.
local PERMISSIONS = {
  opened = '"type":"prompt_opened"',
  calls = [=[
    { call = "run_command", id = "one", arguments = { command = "touch ran1" } },
    { call = "run_command", id = "two", arguments = { command = "touch ran2" } },
    { call = "write_file", id = "three", arguments = { path = "written", content = "x" } },]=],
}
local QUESTIONS = {
  opened = '"type":"inquiry_request"',
  calls = [=[
    { call = "ask_user", id = "one", arguments = { question = "Push?", answer_type = "boolean" } },
    { call = "ask_user", id = "two", arguments = { question = "Which?", answer_type = "select", options = ["1", "2", "3"] } },
    { call = "ask_user", id = "three", arguments = { question = "Name?", default = "main" } },]=],
}

local function workspace(calls)
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder .. '/work/.git', 'p')
  vim.fn.mkdir(folder .. '/home', 'p')
  vim.fn.writefile({ 'Shopping' }, folder .. '/work/a.txt')
  vim.fn.writefile(vim.split(SCRIPT:format(calls), '\n'), folder .. '/script.toml')
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

--- Types a list that begins with this number while all of this is asked. Gives the folder, and what is on record then.
local function typed(asked, first)
  local folder, env = workspace(asked.calls)
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
  for number = first, 9 do
    if met < 3 then wait('a message comes', blocks) end
    met = met + (blocks() and 1 or 0)
    for key in (number .. '. eggs\r'):gmatch('.') do
      vim.fn.chansend(terminal, key)
      vim.wait(2)
    end
  end
  local function opened() return select(2, log(folder):gsub(asked.opened, '')) end
  wait('all that is asked is on record', function() return opened() >= 3 end)
  assert(met >= 3, 'only ' .. met .. ' messages came')
  vim.fn.jobstop(terminal)
  return folder, log(folder)
end

local function allows_nothing(first)
  local folder, record = typed(PERMISSIONS, first)
  for _, name in ipairs({ 'ran1', 'ran2', 'written' }) do
    assert(not vim.uv.fs_stat(folder .. '/work/' .. name), name .. ' is there')
  end
  for _, word in ipairs({ 'once', 'turn', 'always' }) do
    assert(not record:find(('"answer":"%s"'):format(word), 1, true), 'allowed: ' .. word .. '\n' .. record)
  end
  vim.fn.delete(folder, 'rf')
end

local function answers_nothing(first)
  local folder, record = typed(QUESTIONS, first)
  assert(not record:find('"type":"inquiry_response"', 1, true), 'answered:\n' .. record)
  vim.fn.delete(folder, 'rf')
end

local passed, failed = 0, 0
for name, test in pairs({ allows = allows_nothing, answers = answers_nothing }) do
  for first = 1, 3 do
    local ok, why = xpcall(test, debug.traceback, first)
    passed, failed = passed + (ok and 1 or 0), failed + (ok and 0 or 1)
    if not ok then io.write(('FAILED a list that begins with %d %s nothing\n%s\n'):format(first, name, why)) end
  end
end
io.write(('%d passed, %d failed\n'):format(passed, failed))
os.exit(failed == 0 and 0 or 1)

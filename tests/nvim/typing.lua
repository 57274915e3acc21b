--- Types random keys in two Neovims on terminals, one in which Aside asks this and that meanwhile, and one without it:
--- nvim --clean -n -l typing.lua RUNS [SEED], with ASIDE set. At the end nothing is answered, and text, registers, cursor
--- and mode are the same. Prints `N passed, N failed`.
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local repository = vim.fs.dirname(vim.fs.dirname(here))
local runs, seed = tonumber(arg[1]) or 20, tonumber(arg[2]) or os.time() % 100000

local KEYS = 500
local PROMPTS = 5
--- How long anything may take that is waited for, in milliseconds.
local PATIENCE = tonumber(vim.env.PATIENCE) or 20000
--- How long the typist waits for the next prompt. Where a message of Neovim's own waits for Enter, none can come.
local PAUSE = 250

--- What is typed. Left out are keys that leave Neovim, start a shell or a program, or suspend.
local pool = vim.split(
  '0 1 2 3 4 5 6 7 8 9 y y y n n : : a i o d p u j k h l w b e c v V g G f m ; , / ? . < > = ~ J I O D Y P',
  ' '
)
vim.list_extend(pool, { ' ', '\t', '\127', '\r', '\r', '\r', '\r', '\27', '\27', '\27', '\27', '\18' })

--- What the model does in each of the turns that go on while keys are typed.
local function script(folder)
  local calls = {
    '{ call = "edit_file", arguments = { path = "a.txt", old_text = "line 7 has", new_text = "line 7 had" } }',
    '{ call = "run_command", arguments = { command = "touch ran" } }',
    '{ call = "ask_user", arguments = { question = "Push?", answer_type = "boolean" } }',
    '{ call = "ask_user", arguments = { question = "What name?", answer_type = "text" } }',
    '{ call = "ask_user", arguments = { question = "Which?", answer_type = "select", options = ["1", "2", "y"] } }',
  }
  -- The first one changes the file that is typed in: it has to have read it.
  local text = {
    '[[reply]]',
    'when = { user = "turn 1", step = 1 }',
    'say = [{ call = "read_file", arguments = { path = "a.txt" } }]',
  }
  for number, call in ipairs(calls) do
    local about = ('when = { user = "turn %d", step = %d }'):format(number, number == 1 and 2 or 1)
    vim.list_extend(text, { '[[reply]]', about, ('delay_ms = %d'):format((number - 1) * 50) })
    text[#text + 1] = ('say = [{ text = "I begin. I go on.", pieces = 6 }, %s]'):format(call)
  end
  vim.fn.writefile(text, folder .. '/script.toml')
end

---@class Child
---@field terminal integer
---@field channel integer
---@field escapes integer
---@field arrived integer
---@field typed boolean
---@field folder string

Children = {} ---@type table<integer, Child>

--- A Neovim on a terminal.
---@param number integer
---@param with_aside boolean
---@return Child
local function start(number, with_aside)
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder .. '/work/.git', 'p')
  vim.fn.mkdir(folder .. '/home', 'p')
  local lines = {}
  for at = 1, 40 do
    lines[at] = ('line %d has some words, and (brackets)'):format(at)
  end
  vim.fn.writefile(lines, folder .. '/work/a.txt')
  script(folder)
  local env = {
    HOME = folder .. '/home',
    TERM = 'xterm-256color',
    ASIDE_ASSISTANT__MODEL = 'rehearsal/' .. folder .. '/script.toml',
    PLUGIN = with_aside and repository .. '/editors/nvim' or 'none',
  }
  for _, name in ipairs({ 'CONFIG', 'DATA', 'STATE', 'CACHE' }) do
    env['XDG_' .. name .. '_HOME'] = folder .. '/home/' .. name:lower()
  end
  assert(vim.system({ vim.env.ASIDE, 'trust', '--yes' }, { cwd = folder .. '/work', env = env }):wait().code == 0)
  local child = { escapes = 0, arrived = 0, typed = false, folder = folder, number = number }
  Children[number] = child
  local socket = folder .. '/socket'
  child.terminal = vim.fn.jobstart(
    { vim.v.progpath, '--clean', '-n', '-u', here .. '/typing_init.lua', '--listen', socket, 'a.txt' },
    { pty = true, width = 90, height = 26, cwd = folder .. '/work', env = env, on_stdout = function() end }
  )
  assert(
    vim.wait(PATIENCE, function()
      local ok, channel = pcall(vim.fn.sockconnect, 'pipe', socket, { rpc = true })
      child.channel = ok and channel or nil
      return ok
    end, 10),
    'Neovim did not start'
  )
  assert(
    vim.wait(PATIENCE, function()
      return vim.rpcrequest(child.channel, 'nvim_exec_lua', 'return Begin ~= nil and vim.v.vim_did_enter == 1', {})
    end, 10),
    'Neovim did not begin'
  )
  local typist = vim.rpcrequest(child.channel, 'nvim_get_api_info')[1]
  vim.rpcrequest(
    child.channel,
    'nvim_exec_lua',
    'Begin(...)',
    { typist, number, with_aside and PROMPTS or 0, vim.env.ASIDE }
  )
  return child
end

---@param child Child
---@param what string
---@param condition fun(): boolean?
---@param patience? integer
local function wait(child, what, condition, patience)
  local ok = vim.wait(patience or PATIENCE, condition, 2)
  if not ok and not patience then
    error(('waited in vain: %s (%s)'):format(what, child.folder), 0)
  end
end

--- Types, and waits after each Escape until it was read: together with the next key it would be another key.
---@param child Child
---@param keys string[]
local function type_keys(child, keys)
  for _, key in ipairs(keys) do
    vim.fn.chansend(child.terminal, key)
    if key:sub(1, 1) == '\27' then
      local before = child.escapes
      wait(child, 'Escape is read', function()
        return child.escapes > before
      end)
    end
  end
end

--- The last key is one that is never typed otherwise; then what is left is compared.
---@param child Child
---@return table
local function finish(child)
  vim.fn.chansend(child.terminal, '\27[24~')
  wait(child, 'the last key is read', function()
    return child.typed
  end)
  local mode
  -- Where more waits for Enter, Neovim does nothing else before it gets it.
  for _ = 1, 50 do
    mode = mode or vim.rpcrequest(child.channel, 'nvim_get_mode')
    local now = vim.rpcrequest(child.channel, 'nvim_get_mode')
    if not now.blocking then
      break
    end
    vim.fn.chansend(child.terminal, '\r')
    vim.wait(20)
  end
  local state = vim.rpcrequest(child.channel, 'nvim_exec_lua', 'return State()', {})
  state.mode = mode.mode
  if child.channel and state.expected then
    wait(child, 'all prompts are there', function()
      return vim.rpcrequest(child.channel, 'nvim_exec_lua', 'return Open()', {}) == PROMPTS
    end)
    state.open = vim.rpcrequest(child.channel, 'nvim_exec_lua', 'return Open()', {})
  end
  return state
end

---@param child Child
local function stop(child)
  pcall(vim.fn.jobstop, child.terminal)
  pcall(vim.fn.chanclose, child.channel)
end

--- One run: types the same keys into both, and says what differs, or what was answered.
---@param keys string[]
---@return string? broken something was answered, ran, or did not end
---@return string? other what is not the same
---@return integer during how many prompts came while keys were typed
local function run_once(keys)
  local slice = math.floor(KEYS / (PROMPTS + 1))
  local with, without = start(1, true), start(2, false)
  local broken, other, during = nil, nil, 0
  local ok, failure = pcall(function()
    wait(with, 'the change of the file is shown', function()
      return with.arrived > 0
    end)
    for part = 0, PROMPTS do
      local some = vim.list_slice(keys, part * slice + 1, part == PROMPTS and KEYS or (part + 1) * slice)
      type_keys(with, some)
      type_keys(without, some)
      wait(with, 'a prompt arrives', function()
        return with.arrived > math.min(part + 1, PROMPTS - 1)
      end, PAUSE)
      during = part == PROMPTS - 1 and with.arrived - 1 or during
    end
    local mine, theirs = finish(with), finish(without)
    if mine.open ~= PROMPTS or mine.answers ~= 0 then
      broken = ('%d prompts are open, %d were closed'):format(mine.open, mine.answers)
    elseif vim.uv.fs_stat(with.folder .. '/work/ran') then
      broken = 'a command ran that nobody allowed'
    end
    for _, what in ipairs({ 'mode', 'buffers', 'registers', 'cursor', 'windows' }) do
      if not vim.deep_equal(mine[what], theirs[what]) then
        other = other or ('%s: with %s\nwithout %s'):format(what, vim.inspect(mine[what]), vim.inspect(theirs[what]))
      end
    end
  end)
  stop(with)
  stop(without)
  return broken or not ok and tostring(failure) or nil, other, during
end

local passed, failed, during, again = 0, 0, 0, 0
for run = 1, runs do
  math.randomseed(seed + run)
  local keys = {}
  for at = 1, KEYS do
    keys[at] = pool[math.random(#pool)]
  end
  -- A terminal may put two keys together, which happens without Aside too: what differs has to differ each time.
  local broken, other, arrived
  for try = 1, 3 do
    broken, other, arrived = run_once(keys)
    again = again + (try > 1 and 1 or 0)
    if broken or not other then
      break
    end
  end
  during = during + arrived
  passed, failed = passed + ((broken or other) and 0 or 1), failed + ((broken or other) and 1 or 0)
  if broken or other then
    io.stdout:write(('FAILED run %d of seed %d: %s\n'):format(run, seed, broken or other))
  end
end
local possible = runs * (PROMPTS - 1)
io.stdout:write(
  ('%d keys a run, seed %d; %d of %d prompts came while keys were typed; '):format(KEYS, seed, during, possible)
)
io.stdout:write(('%d times a run was typed again\n'):format(again))
if during < possible / 2 then
  failed = failed + 1
  io.stdout:write('FAILED most prompts came too late to be typed into\n')
end
io.stdout:write(('%d passed, %d failed\n'):format(passed, failed))
os.exit(failed == 0 and 0 or 1)

--- Types random keys in two Neovims on terminals, one in which Aside asks this and that meanwhile, and one without it:
--- nvim --clean -n -l typing.lua RUNS [SEED], with ASIDE set. At the end nothing is answered, and text, registers, cursor
--- and mode are the same. Prints `N passed, N failed`.
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local repository = vim.fs.dirname(vim.fs.dirname(here))
local runs, seed = tonumber(arg[1]) or 20, tonumber(arg[2]) or os.time() % 100000

local KEYS = 500
local PROMPTS = 5
--- How long anything may take that is waited for, in milliseconds.
local PATIENCE = tonumber(vim.env.PATIENCE) or 60000

--- A key that is typed to know that all before it was read.
local LAST = '\27[24~'

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
---@field read table<string, integer> how often each key was read of which that is told
---@field arrived integer prompts
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
  local child = { read = {}, arrived = 0, folder = folder, number = number }
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
    vim.wait(
      PATIENCE,
      function()
        return vim.rpcrequest(child.channel, 'nvim_exec_lua', 'return Begin ~= nil and vim.v.vim_did_enter == 1', {})
      end,
      10
    ),
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
---@return { mode: string, blocking: boolean } mode where it is blocking, Neovim does nothing else before it gets a key
local function mode_of(child) return vim.rpcrequest(child.channel, 'nvim_get_mode') end

---@param child Child
---@param what string
---@param condition fun(): boolean?
local function wait(child, what, condition)
  if not vim.wait(PATIENCE, condition, 2) then
    error(('waited in vain: %s (%s), in %s'):format(what, child.folder, vim.inspect(mode_of(child))), 0)
  end
end

--- Types a key, and waits until it was read.
---@param child Child
---@param key string
---@param name string
local function type_and_wait(child, key, name)
  local before = child.read[name] or 0
  vim.fn.chansend(child.terminal, key)
  wait(child, name .. ' is read', function() return (child.read[name] or 0) > before end)
end

--- Types. Escape together with the next key would be another key.
---@param child Child
---@param keys string[]
local function type_keys(child, keys)
  for _, key in ipairs(keys) do
    if key == '\27' then
      type_and_wait(child, key, 'escape')
    else
      vim.fn.chansend(child.terminal, key)
    end
  end
  type_and_wait(child, LAST, 'last')
end

--- What is left is compared.
---@param child Child
---@return table
local function finish(child)
  local mode = mode_of(child)
  while mode_of(child).blocking do
    type_and_wait(child, '\r', 'enter')
  end
  local state = vim.rpcrequest(child.channel, 'nvim_exec_lua', 'return State()', {})
  state.mode = mode.mode
  if child.channel and state.expected then
    wait(
      child,
      'all prompts are there',
      function() return vim.rpcrequest(child.channel, 'nvim_exec_lua', 'return Open()', {}) == PROMPTS end
    )
    state.open = vim.rpcrequest(child.channel, 'nvim_exec_lua', 'return Open()', {})
  end
  return state
end

---@param child Child
local function stop(child)
  pcall(vim.fn.jobstop, child.terminal)
  pcall(vim.fn.chanclose, child.channel)
end

--- Random keys. In a command there is no `b`, which goes to a buffer by its number: Aside's pages are buffers too, though
--- in no list; nor a tab, which completes to commands that leave Neovim, or debug; nor a slash, with which it would write a
--- file anywhere. A count has at most two digits, or Neovim would be busy for minutes. `g;` and `g,` go to columns that hang
--- on how many keys had come when Neovim wrote the first of them into the text.
---@return string[]
local function random_keys()
  local keys, digits, command = {}, 0, false
  while #keys < KEYS do
    local key = pool[math.random(#pool)]
    digits = key:match('%d') and digits + 1 or 0
    command = key == ':' or command and key ~= '\r' and key ~= '\27'
    local by_pace = keys[#keys] == 'g' and (key == ';' or key == ',')
    if digits <= 2 and not by_pace and not (command and (key == 'b' or key == '\t' or key == '/')) then
      keys[#keys + 1] = key
    end
  end
  return keys
end

--- What answers most questions, and other text.
local function pick_text()
  local all = { '1', '2', '3', '4', 'y', 'n', 'Y', ' ', '\r', 'a', 'q', 'g' }
  return all[math.random(#all)]
end

--- Where two Neovims part, though the same keys were typed.
---@param mine string[] keys, each with where it was read
---@param theirs string[]
---@return string
local function parting(mine, theirs)
  local at = 1
  while mine[at] and mine[at] == theirs[at] do
    at = at + 1
  end
  local function around(keys) return table.concat(vim.list_slice(keys, math.max(1, at - 12), at + 2), ', ') end
  return ('they part at key %d: with it %s\nwithout it %s'):format(at, around(mine), around(theirs))
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
    wait(with, 'the change of the file is shown', function() return with.arrived > 0 end)
    for part = 0, PROMPTS do
      local some = vim.list_slice(keys, part * slice + 1, part == PROMPTS and KEYS or (part + 1) * slice)
      type_keys(with, some)
      type_keys(without, some)
      wait(
        with,
        'a prompt arrives',
        function() return with.arrived > math.min(part + 1, PROMPTS - 1) or mode_of(with).blocking end
      )
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
        other = other
          or ('%s: with %s\nwithout %s\n%s'):format(
            what,
            vim.inspect(mine[what]),
            vim.inspect(theirs[what]),
            parting(mine.keys, theirs.keys)
          )
      end
    end
  end)
  stop(with)
  stop(without)
  return broken or not ok and tostring(failure) or nil, other, during
end

--- One run in which the person decides about the change, and types on: nothing else is answered, and the text is what was
--- typed.
---@return string? broken
local function decide_once()
  local child = start(1, true)
  local broken
  local ok, failure = pcall(function()
    local function is_open() return vim.rpcrequest(child.channel, 'nvim_exec_lua', 'return Open()', {}) == PROMPTS end
    wait(child, 'all prompts are there', is_open)
    local function is_live(ask) return vim.rpcrequest(child.channel, 'nvim_exec_lua', 'return ' .. ask, {}) end
    -- It is one of five that comes first; what is modal is left for later.
    for _ = 1, 2 * PROMPTS do
      type_and_wait(child, ':Aside answer\r', 'enter')
      wait(child, 'something is shown', function() return mode_of(child).mode ~= 'n' or is_live('Turned()') end)
      while mode_of(child).mode ~= 'n' do
        type_and_wait(
          child,
          mode_of(child).mode == 'r' and '\r' or '\3',
          mode_of(child).mode == 'r' and 'enter' or 'stop'
        )
      end
      if is_live('Turned()') then break end
    end
    local typed = {}
    for at = 1, 60 do
      typed[at] = pick_text()
    end
    local text = table.concat(typed)
    -- Blanks that begin a line would begin the next one, too.
    vim.rpcrequest(child.channel, 'nvim_exec_lua', 'vim.o.autoindent = false', {})
    -- A key that comes before the change was read only brings it on the screen; a person sees that, and types it again.
    repeat
      wait(child, 'it can be decided', function() return is_live('Live()') end)
      type_and_wait(child, 'gy', 'take')
    until is_live('Decided()')
    vim.fn.chansend(child.terminal, '1\rGo' .. text)
    type_and_wait(child, '\27', 'escape')
    type_and_wait(child, LAST, 'last')
    -- The server may take its time to say that it has the decision.
    wait(child, 'it is decided', function() return is_live('Closed() > 0') end)
    local state = vim.rpcrequest(child.channel, 'nvim_exec_lua', 'return State()', {})
    local wanted = vim.split((text:gsub('\r', '\n')), '\n')
    local lines = state.buffers['a.txt']
    if state.answers ~= 1 then
      broken = ('%d prompts were answered'):format(state.answers)
    elseif vim.uv.fs_stat(child.folder .. '/work/ran') then
      broken = 'a command ran that nobody allowed'
    elseif not vim.deep_equal(vim.list_slice(lines, #lines - #wanted + 1), wanted) then
      broken = ('the text is not what was typed: %s'):format(vim.inspect(lines))
    end
  end)
  stop(child)
  return broken or not ok and tostring(failure) or nil
end

local passed, failed, during = 0, 0, 0
for run = 1, math.ceil(runs / 4) do
  math.randomseed(seed + run - 1)
  local broken = decide_once()
  passed, failed = passed + (broken and 0 or 1), failed + (broken and 1 or 0)
  if broken then io.stdout:write(('FAILED deciding, with seed %d: %s\n'):format(seed + run - 1, broken)) end
end
for run = 1, runs do
  math.randomseed(seed + run - 1)
  local broken, other, arrived = run_once(random_keys())
  during = during + arrived
  passed, failed = passed + ((broken or other) and 0 or 1), failed + ((broken or other) and 1 or 0)
  if broken or other then io.stdout:write(('FAILED with seed %d: %s\n'):format(seed + run - 1, broken or other)) end
end
local possible = runs * (PROMPTS - 1)
io.stdout:write(
  ('%d keys a run, seed %d; %d of %d prompts came while keys were typed\n'):format(KEYS, seed, during, possible)
)
-- Where a message waits for Enter as often as that, a prompt does not come before it is typed.
if runs >= 10 and during < possible / 2 then
  failed = failed + 1
  io.stdout:write('FAILED most prompts came too late to be typed into\n')
end
io.stdout:write(('%d passed, %d failed\n'):format(passed, failed))
os.exit(failed == 0 and 0 or 1)

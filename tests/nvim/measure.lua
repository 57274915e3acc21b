--- Measures what Aside costs Neovim: nvim --clean -n -l measure.lua [ROUNDS], with ASIDE set. Nothing here passes or fails.
--- What starting takes more; how late a 10 ms timer of Neovim's main loop is while 20,000 pieces stream, and when a typed
--- key is on the screen. Of each the least and the median of some rounds, beside Neovim without Aside.
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local plugin = vim.fs.dirname(vim.fs.dirname(here)) .. '/editors/nvim'
local ROUNDS, STARTS, KEYS, PIECES = tonumber(arg[1]) or 5, 10, 40, 20000

---@param numbers number[]
---@param part number
local function quantile(numbers, part)
  table.sort(numbers)
  return numbers[math.max(1, math.ceil(#numbers * part))]
end

--- Prints the least and the median of the rounds of each thing.
---@param what string
---@param round fun(): table<string, number> milliseconds
local function report(what, round)
  local all = {}
  for _ = 1, ROUNDS do
    for name, value in pairs(round()) do
      all[name] = all[name] or {}
      table.insert(all[name], value)
    end
  end
  for name, values in vim.spairs(all) do
    local least, median = quantile(values, 0), quantile(values, 0.5)
    io.stdout:write(('%s, %s: least %.2f ms, median %.2f ms\n'):format(what, name, least, median))
  end
end

local folder = vim.fn.tempname()
vim.fn.mkdir(folder .. '/work/.git', 'p')
vim.fn.mkdir(folder .. '/home', 'p')
vim.env.HOME = folder .. '/home'
for _, name in ipairs({ 'CONFIG', 'DATA', 'STATE', 'CACHE' }) do
  vim.env['XDG_' .. name .. '_HOME'] = folder .. '/home/' .. name:lower()
end
vim.cmd.cd(folder .. '/work')

--- A script in which the model says so many pieces, each so many milliseconds after the other.
local function script(name, pieces, delay)
  local say = ('say = [{ text = "%s", pieces = %d }]'):format(('A word or two.\\n\\n'):rep(pieces / 3), pieces)
  vim.fn.writefile({ '[[reply]]', 'repeat = true', 'piece_delay_ms = ' .. delay, say }, folder .. '/' .. name)
  return ('rehearsal/%s/%s'):format(folder, name)
end
local burst, steady = script('burst.toml', PIECES, 0), script('steady.toml', PIECES, 1)

--- Milliseconds until Neovim has started.
local function start_time(arguments)
  local log = vim.fn.tempname()
  local command = { vim.v.progpath, '--clean', '-n', '--headless', '--startuptime', log }
  vim.system(vim.list_extend(vim.list_extend(command, arguments), { '-c', 'quit' })):wait()
  return tonumber(table.concat(vim.fn.readfile(log), '\n'):match('.*\n(%d+%.%d+)[^\n]*NVIM STARTED'))
end

report('start', function()
  local with, without = {}, {}
  for at = 1, STARTS do
    without[at] = start_time({})
    with[at] = start_time({ '--cmd', 'set rtp^=' .. plugin })
  end
  local before, after = quantile(without, 0.5), quantile(with, 0.5)
  return { ['1 without the plugin'] = before, ['2 with it'] = after, ['3 the plugin alone'] = after - before }
end)

--- How late a timer of 10 ms is while something goes on.
local function slips(done)
  local late, last = {}, vim.uv.hrtime()
  local timer = assert(vim.uv.new_timer())
  local function tick()
    local now = vim.uv.hrtime()
    late[#late + 1] = math.max(0, (now - last) / 1e6 - 10)
    last = now
  end
  timer:start(10, 10, vim.schedule_wrap(tick))
  vim.wait(120000, done, 1)
  timer:close()
  return { ['p50'] = quantile(late, 0.5), ['p99'] = quantile(late, 0.99), ['worst'] = quantile(late, 1) }
end

report('a 10 ms timer is late without Aside', function()
  local idle = vim.uv.now() + 2000
  return slips(function() return vim.uv.now() > idle end)
end)

vim.opt.runtimepath:prepend(plugin)
vim.cmd('runtime plugin/aside.lua')
vim.g.aside = { server = vim.env.ASIDE }
local turn = require('aside.turn')
for name, model in
  vim.spairs({ ['while 20,000 pieces come at once'] = burst, ['while 20,000 pieces come, one each ms'] = steady })
do
  report('a 10 ms timer is late ' .. name, function()
    local ended = false
    vim.api.nvim_create_autocmd('User', {
      pattern = 'AsideTurnEnded',
      once = true,
      callback = function() ended = true end,
    })
    require('aside.view').choice.model = model
    turn.ask({ message = 'go', new = true })
    local late = slips(function() return ended end)
    -- What the person said, and two lines for each three pieces.
    local lines = vim.api.nvim_buf_line_count(assert(require('aside.view').of()).buf)
    assert(lines >= 2 * math.floor(PIECES / 3), ('only %d lines came'):format(lines))
    return late
  end)
end

--- When a typed key is on the screen, in a Neovim on a terminal. They stand left of the answer, and not below it.
local function typed(with_aside)
  local seen = 0
  local init = folder .. '/init.lua'
  vim.fn.writefile({
    'vim.opt.runtimepath:prepend(' .. vim.inspect(plugin) .. ')',
    'vim.g.aside = { server = vim.env.ASIDE }',
    "vim.schedule(function() if vim.env.WITH == '1' then vim.cmd('Aside ask go') end vim.cmd.startinsert() end)",
  }, init)
  local terminal = vim.fn.jobstart({ vim.v.progpath, '--clean', '-n', '-u', init, 'a.txt' }, {
    pty = true,
    width = 100,
    height = 30,
    env = { WITH = with_aside and '1' or '0', ASIDE_ASSISTANT__MODEL = steady, TERM = 'xterm-256color' },
    on_stdout = function(_, data) seen = seen + select(2, table.concat(data, '\n'):gsub('Q', '')) end,
  })
  -- The first key is there when Neovim has begun, and Aside has some of its pieces.
  local took = {}
  vim.wait(3000, function() return false end, 50)
  for at = 1, KEYS do
    local begun = vim.uv.hrtime()
    vim.fn.chansend(terminal, 'Q')
    assert(vim.wait(20000, function() return seen >= at end, 1), 'a key did not appear')
    took[at] = (vim.uv.hrtime() - begun) / 1e6
    vim.wait(30, function() return false end, 5)
  end
  vim.fn.jobstop(terminal)
  return { ['p50'] = quantile(took, 0.5), ['p99'] = quantile(took, 0.99), ['worst'] = quantile(took, 1) }
end

report('a typed key appears without Aside', function() return typed(false) end)
report('a typed key appears while a piece comes each ms', function() return typed(true) end)
os.exit(0)

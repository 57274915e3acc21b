--- Measures what Aside costs Neovim: nvim --clean -n -l measure.lua, with ASIDE set. Nothing here passes or fails.
--- What starting takes more, and how late a 10 ms timer of Neovim's main loop is while 20,000 pieces stream.
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local plugin = vim.fs.dirname(vim.fs.dirname(here)) .. '/editors/nvim'
local STARTS, PIECES = 40, 20000

---@param numbers number[]
---@param part number
local function quantile(numbers, part)
  table.sort(numbers)
  return numbers[math.max(1, math.ceil(#numbers * part))]
end

--- Milliseconds until Neovim has started.
local function start_time(arguments)
  local log = vim.fn.tempname()
  local command = { vim.v.progpath, '--clean', '-n', '--headless', '--startuptime', log }
  vim.system(vim.list_extend(vim.list_extend(command, arguments), { '-c', 'quit' })):wait()
  local last
  for line in io.lines(log) do
    last = line:match('^(%d+%.%d+).*NVIM STARTED') or last
  end
  return tonumber(last)
end

local without, with = {}, {}
for at = 1, STARTS do
  without[at] = start_time({})
  with[at] = start_time({ '--cmd', 'set rtp^=' .. plugin })
end
local before, after = quantile(without, 0.5), quantile(with, 0.5)
print(
  ('start: %.2f ms with the plugin, %.2f ms without (median of %d): %+.2f ms\n'):format(
    after,
    before,
    STARTS,
    after - before
  )
)

--- How late a timer of 10 ms is, sorted, while something goes on.
local function slips(done)
  local late, last = {}, vim.uv.hrtime()
  local timer = assert(vim.uv.new_timer())
  timer:start(
    10,
    10,
    vim.schedule_wrap(function()
      local now = vim.uv.hrtime()
      late[#late + 1] = math.max(0, (now - last) / 1e6 - 10)
      last = now
    end)
  )
  vim.wait(120000, done, 1)
  timer:close()
  return late
end

local function report(name, late)
  print(
    ('%s: a 10 ms timer is late by %.1f ms (p50), %.1f ms (p99), %.1f ms (worst), of %d\n'):format(
      name,
      quantile(late, 0.5),
      quantile(late, 0.99),
      quantile(late, 1),
      #late
    )
  )
end

local folder = vim.fn.tempname()
vim.fn.mkdir(folder .. '/work/.git', 'p')
vim.fn.mkdir(folder .. '/home', 'p')
vim.env.HOME = folder .. '/home'
for _, name in ipairs({ 'CONFIG', 'DATA', 'STATE', 'CACHE' }) do
  vim.env['XDG_' .. name .. '_HOME'] = folder .. '/home/' .. name:lower()
end
vim.fn.writefile({
  '[[reply]]',
  ('say = [{ text = "%s", pieces = %d }]'):format(('A word or two. '):rep(PIECES / 3), PIECES),
}, folder .. '/burst.toml')
vim.fn.writefile({
  '[[reply]]',
  'piece_delay_ms = 1',
  ('say = [{ text = "%s", pieces = %d }]'):format(('A word or two. '):rep(PIECES / 12), PIECES / 4),
}, folder .. '/steady.toml')
vim.cmd.cd(folder .. '/work')

local idle = vim.uv.now() + 3000
report('without Aside', slips(function() return vim.uv.now() > idle end))

vim.opt.runtimepath:prepend(plugin)
vim.g.aside = { server = vim.env.ASIDE }
for _, script in ipairs({ 'burst', 'steady' }) do
  local ended, updates = false, 0
  vim.api.nvim_create_autocmd('User', {
    pattern = 'AsideTurnEnded',
    once = true,
    callback = function() ended = true end,
  })
  local turn = require('aside.turn')
  turn.choice.model = ('rehearsal/%s/%s.toml'):format(folder, script)
  local update = turn.update
  turn.update = function(params)
    updates = updates + 1
    update(params)
  end
  turn.ask({ message = 'go', new = true })
  report(('%s of pieces'):format(script), slips(function() return ended end))
  turn.update = update
  io.stdout:write(('  in %d messages\n'):format(updates))
end
os.exit(0)

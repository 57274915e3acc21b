--- Shows random changes in a Neovim on a terminal, moves about, and reads the cells: nvim --clean -n -l unseen.lua CASES
--- [SEED]. Wherever a key takes a hunk, or keeps one that was made without asking, its label, the keys and all that it
--- adds have to be on the screen, or, where it is longer than the window, have been there. Prints `N passed, N failed`.
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local repository = vim.fs.dirname(vim.fs.dirname(here))
local cases, seed = tonumber(arg[1]) or 100, tonumber(arg[2]) or os.time() % 100000
local PATIENCE = tonumber(vim.env.PATIENCE) or 60000

local random = math.random
local function pick(all) return all[random(#all)] end
local function chance(percent) return random(100) <= percent end

local folder = vim.fn.tempname()
vim.fn.mkdir(folder, 'p')
local socket = folder .. '/socket'

---@return string
local function tmux(...)
  local done = vim.system({ 'tmux', '-L', 'aside-unseen-' .. vim.uv.os_getpid(), ... }, { text = true }):wait()
  assert(done.code == 0, done.stderr)
  return done.stdout
end

vim.env.PLUGIN, vim.env.HOME, vim.env.TERM = repository .. '/editors/nvim', folder, 'xterm-256color'
vim.env.TMUX, vim.env.LC_ALL = nil, 'C.UTF-8'
local command = ('exec %s --clean -n -u %s/unseen_init.lua --listen %s'):format(vim.v.progpath, here, socket)
tmux('-f', '/dev/null', 'new-session', '-d', '-x', '80', '-y', '24', command)
local channel ---@type integer
local begun = vim.wait(PATIENCE, function()
  local ok, found = pcall(vim.fn.sockconnect, 'pipe', socket, { rpc = true })
  channel = ok and found or channel
  return ok and vim.rpcrequest(channel, 'nvim_exec_lua', 'return Live ~= nil', {})
end, 10)
assert(begun, 'Neovim did not begin')

local function call(text, ...) return vim.rpcrequest(channel, 'nvim_exec_lua', text, { ... }) end

--- Texts without blanks, and without letters that have other forms on the screen.
local function bare(text)
  return (text:gsub('[\216-\219][\128-\191]', ''):gsub('\239[\172-\187][\128-\191]', ''):gsub('%s+', ''))
end

-- Screens of which the terminal shows something else than Neovim has drawn: where a window begins in the middle of a line
-- that a fold has closed meanwhile, Neovim sends its terminal a row before the first one. They are judged by what is drawn.
local spoilt = 0

--- The rows of the screen after it was drawn, as often as it takes until nothing changes.
local function screen()
  local before ---@type string[]
  for _ = 1, 20 do
    local tick, lines = 'tick' .. call('return Draw()'), nil
    local seen = vim.wait(PATIENCE, function()
      lines = vim.split(tmux('capture-pane', '-p', ';', 'display-message', '-p', '#{pane_title}'), '\n')
      table.remove(lines)
      return table.remove(lines) == tick
    end, 1)
    if not seen then error('the screen does not come: ' .. tick .. '\n' .. table.concat(lines, '\n'), 0) end
    if vim.deep_equal(lines, before) then
      local drawn = call('return dofile(...)()', here .. '/cells.lua')
      if bare(table.concat(drawn)) == bare(table.concat(lines)) then return lines end
      spoilt = spoilt + 1
      return drawn
    end
    before = lines
  end
  error('the screen changes all the time\n' .. table.concat(before, '\n'), 0)
end

--- The rows of the window, without blanks.
---@return string[]
local function inside(lines, view)
  local rows = {}
  for row = view.at[1], view.at[1] + view.height - 1 do
    local column, text = 1, ''
    for _, character in ipairs(vim.fn.split(lines[row] or '', '\\zs')) do
      local left = view.at[2] + view.gutter
      if column >= left and column < view.at[2] + view.width then text = text .. character end
      column = column + vim.fn.strdisplaywidth(character)
    end
    -- Where a wide character goes on in the next row, Neovim says so.
    text = bare(text)
    rows[#rows + 1] = view.inverted and not text:find('<200b>$') and text:gsub('>$', '') or text
  end
  return rows
end

local count = 0
local WORDS =
  { 'word', 'local', '漢字', 'سلام', '🥛', '(x)', 'a\tb', '\t', 'ünï', 'é', '"q"', '--', '\226\128\139' }

--- A line that is like no other.
local function line()
  count = count + 1
  local parts = { pick({ '', '', '  ', '    ', '\t', '\t\t' }) .. 'n' .. count .. ':' }
  for _ = 1, pick({ 0, 1, 3, 3, 5, 12, chance(20) and 60 or 2, chance(5) and 300 or 1 }) do
    parts[#parts + 1] = pick(WORDS)
  end
  return table.concat(parts, pick({ ' ', ' ', '' })) .. ';' .. count
end

local function some(lines)
  local all = {}
  for _ = 1, lines do
    all[#all + 1] = line()
  end
  return all
end

---@return table
local function random_case(run)
  local old = some(pick({ 0, 1, 2, 5, 12, 30, 60 }))
  local new, at = {}, 1
  local often = pick({ 3, 10, 40 })
  local function add() vim.list_extend(new, some(pick({ 1, 1, 1, 2, 4, chance(20) and 50 or 3 }))) end
  if chance(30) or #old == 0 then add() end
  while at <= #old do
    if chance(often) then
      if chance(70) then add() end
      at = at + pick({ 0, 1, 1, 1, 3 })
    end
    new[#new + 1] = old[at]
    at = at + 1
  end
  if chance(20) or vim.deep_equal(old, new) then add() end
  local window = {
    number = chance(50),
    relativenumber = chance(20),
    signcolumn = pick({ 'auto', 'yes', 'no', 'yes:2' }),
    foldcolumn = pick({ '0', '0', '2' }),
    wrap = chance(60),
    list = chance(20),
    linebreak = chance(20),
    scrolloff = pick({ 0, 0, 5, 999 }),
    tabstop = pick({ 2, 4, 8 }),
    foldmethod = pick({ 'manual', 'indent', 'manual' }),
    foldlevel = pick({ 0, 0, 3 }),
    foldenable = chance(60),
    cmdheight = pick({ 0, 1, 1 }),
    smoothscroll = chance(20),
    winbar = pick({ '', '', 'a bar' }),
  }
  local function text(lines) return table.concat(lines, '\n') .. (#lines > 0 and '\n' or '') end
  return {
    file = ('%s/%d.txt'):format(folder, run),
    made = chance(25),
    old = text(old),
    new = text(new),
    columns = pick({ 30, 59, 80, 100, 120 }),
    lines = pick({ 12, 24, 24, 40 }),
    options = {
      open = chance(85),
      window = window,
      split = pick({ false, false, 'vsplit', 'split', 'vnew | wincmd p', 'vsplit | vertical resize 24' }),
      start = pick({ 'gg', 'G', '5j' }),
    },
  }
end

local MOVES = vim.split(
  ']h [h ]h gg G <C-d> <C-u> <C-e> <C-y> zt zb zz zM zR zc j k 5j gn <C-f> <C-b> gg<C-e> zL'
    .. ' <C-w>w :set<Space>wrap!<CR> :set<Space>number!<CR> :5,9fold<CR> <C-w>v <C-w>5< gg5<C-y> i<Esc> q :Aside<Space>answer<CR>',
  ' '
)

local live, moved, kinds = 0, 0, {}

--- Whether a text is one row after another that was on the screen.
---@param read table<string, boolean> rows
local function was_read(text, read)
  local ends = { [0] = true }
  for at = 0, #text - 1 do
    for row in pairs(ends[at] and read or {}) do
      if text:sub(at + 1, at + #row) == row then ends[at + #row] = true end
    end
  end
  return ends[#text] == true
end

--- What is wrong with what is on the screen; nil where nothing is.
---@param view table
---@param read table<string, boolean> rows that were on the screen
local function wrong(lines, view, read)
  local rows = inside(lines, view)
  local text = table.concat(rows)
  for _, row in ipairs(rows) do
    if row ~= '' then read[row] = true end
  end
  local function unseen(at, once)
    for _, one in ipairs(vim.list_extend(vim.deepcopy(view.added[at]), view.gone[at])) do
      local needle = (view.inverted and '' or '+') .. bare(vim.fn.strtrans((one:gsub('\t', ''))))
      -- Without columns left of the text, a row of what is gone has its sign in it.
      local has_been = was_read(needle, read) or was_read('-' .. needle, read)
      if not (once and has_been) and not text:find(needle, 1, true) then return needle end
    end
  end
  for at, can in ipairs(view.live) do
    if can then
      live = live + 1
      kinds[(view.made and 'made ' or '') .. (view.page and (view.long[at] and 'long' or 'page') or 'inline')] = true
      local label = ('%s·%dof%d'):format(view.made and 'changedbyAside' or 'edit_file', at, #view.live)
      local keys = view.made and 'gykeep·gntakeback' or 'gytake·gnleave'
      if not text:find(label, 1, true) then return 'no label of ' .. at end
      if not text:find(keys, 1, true) then return 'no keys of ' .. at end
      local lacking = unseen(at, view.long[at])
      if lacking then return ('hunk %d lacks %s'):format(at, lacking) end
    end
  end
  if not view.all then return end
  for at, open in ipairs(view.open) do
    local lacking = open and unseen(at, true)
    if lacking then return ('all can be taken, and hunk %d lacks %s'):format(at, lacking) end
  end
end

---@return string? why
local function run_once(run)
  local case = random_case(run)
  local read, done, reads, why = {}, { 'start' }, chance(20), nil
  tmux('resize-window', '-x', tostring(case.columns), '-y', tostring(case.lines))
  local size = ('return vim.o.columns == %d and vim.o.lines == %d'):format(case.columns, case.lines)
  assert(vim.wait(PATIENCE, function() return call(size) end, 1), 'the terminal has another size')
  call('Begin(...)', case)
  for step = 0, reads and 30 or 12 do
    if step > 0 then
      local key = reads and '<C-d>' or pick(MOVES)
      done[#done + 1] = case.made and key:gsub('answer', 'review') or key
      call('Move(...)', done[#done])
    end
    local lines = screen()
    if call('return #Sent') > 0 then break end
    local view = call('Pass() return Live()')
    moved, why = moved + 1, wrong(lines, view, read)
    if why then
      why = ('%s\n  after: %s\n  %s\n  %s'):format(
        why,
        table.concat(done, ' '),
        (case.made and 'made ' or '') .. vim.inspect(case.options):gsub('\n%s*', ' '),
        table.concat(lines, '\n  ')
      )
      break
    end
  end
  return why
end

local passed, failed = 0, 0
for run = 1, cases do
  math.randomseed(seed + run - 1)
  local ok, why = pcall(run_once, run)
  why = not ok and tostring(why) or why
  passed, failed = passed + (why and 0 or 1), failed + (why and 1 or 0)
  if why then io.stdout:write(('FAILED with seed %d: %s\n'):format(seed + run - 1, why)) end
end
io.stdout:write(
  ('seed %d; %d screens, %d times a hunk could be decided, %d spoilt\n'):format(seed, moved, live, spoilt)
)
if spoilt > math.max(12, moved / 1000) then
  failed = failed + 1
  io.stdout:write('FAILED the terminal shows too often what Neovim has not drawn\n')
end
-- Where hardly anything can be decided, hardly anything was tried.
if cases >= 20 and (live < moved / 3 or vim.tbl_count(kinds) < 5) then
  failed = failed + 1
  io.stdout:write('FAILED too little could be decided: ' .. vim.inspect(kinds) .. '\n')
end
io.stdout:write(('%d passed, %d failed\n'):format(passed, failed))
vim.fn.chanclose(channel)
tmux('kill-server')
os.exit(failed == 0 and 0 or 1)

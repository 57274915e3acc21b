--- Lets the person pick one of several: by `vim.ui.select`, which many plugins take over. Neovim's own asks in a message,
--- and a plugin that shows messages shows that over what is decided about; there, it is a list at the bottom.
local log = require('aside.log')

--- Shows the list, and takes the cursor there.
---@param lines string[]
---@param prompt string
---@param picked fun(at?: integer)
local function show(lines, prompt, picked)
  local buf, rows = vim.api.nvim_create_buf(false, true), 0
  vim.bo[buf].bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  vim.bo[buf].modifiable = false
  for _, line in ipairs(lines) do
    rows = rows + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / vim.o.columns))
  end
  local win = vim.api.nvim_open_win(buf, true, {
    relative = 'editor',
    anchor = 'SW',
    row = vim.o.lines - vim.o.cmdheight - 1,
    col = 0,
    width = vim.o.columns,
    height = math.max(1, math.min(rows, vim.o.lines - vim.o.cmdheight - 3)),
    style = 'minimal',
    border = { '', '─', '', '', '', '', '', '' },
    title = (' %s '):format(vim.trim(prompt)),
    zindex = 60,
  })
  vim.wo[win][0].cursorline, vim.wo[win][0].wrap = true, true
  local over = false
  local function finish(at)
    if over then return end
    over = true
    pcall(vim.api.nvim_win_close, win, true)
    picked(at)
  end
  local function map(key, act) vim.keymap.set('n', key, act, { buffer = buf, nowait = true }) end
  map('<CR>', function() finish(vim.fn.line('.')) end)
  map('<Esc>', function() finish() end)
  map('q', function() finish() end)
  -- The number of an answer goes there; Enter takes it.
  for at = 1, math.min(#lines, 9) do
    map(tostring(at), function() vim.api.nvim_win_set_cursor(win, { at, 0 }) end)
  end
  vim.api.nvim_create_autocmd(
    'WinLeave',
    { buffer = buf, once = true, callback = vim.schedule_wrap(function() finish() end) }
  )
end

---@generic T
---@param items T[]
---@param options { prompt: string, kind: string, format_item: fun(item: T): string }
---@param done fun(item?: T, at?: integer)
return function(items, options, done)
  if not log.is_neovims(vim.ui.select) or not log.taken() then return vim.ui.select(items, options, done) end
  local lines = {}
  for at, item in ipairs(items) do
    lines[at] = ('%d: %s'):format(at, options.format_item(item))
  end
  show(lines, options.prompt, function(at) done(at and items[at], at) end)
end

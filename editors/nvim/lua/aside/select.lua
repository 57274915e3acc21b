--- Lets the person pick one of several: by `vim.ui.select` where a plugin took that over, else in a list at the bottom.
--- Neovim's own asks in a message, which may take the place of all windows. What is approved is always asked in the list:
--- the page that it is about stands above it.
local log = require('aside.log')
local page = require('aside.page')

--- Shows the list, and takes the cursor there.
---@param lines string[]
---@param prompt string
---@param about? string the page that it is about, which has to be on the screen
---@param picked fun(at?: integer)
local function show(lines, prompt, about, picked)
  vim.cmd.stopinsert()
  local buf, rows = vim.api.nvim_create_buf(false, true), 0
  vim.bo[buf].bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  vim.bo[buf].modifiable = false
  for _, line in ipairs(lines) do
    rows = rows + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / vim.o.columns))
  end
  local options = {
    relative = 'editor',
    anchor = 'SW',
    row = vim.o.lines - vim.o.cmdheight - 1,
    col = 0,
    width = vim.o.columns,
    height = math.max(1, math.min(rows, vim.o.lines - vim.o.cmdheight - 3)),
    style = 'minimal',
    border = { '', '─', '', '', '', '', '', '' },
    title = (' %s '):format(vim.trim(prompt)),
    zindex = page.OVER + 1,
  }
  local win = vim.api.nvim_open_win(buf, true, options)
  if about then page.raise(about) end
  vim.wo[win][0].cursorline, vim.wo[win][0].wrap = true, true
  local over = false
  local function finish(at)
    if over then return end
    over = true
    pcall(vim.api.nvim_win_close, win, true)
    picked(at)
  end
  local function map(key, act) vim.keymap.set('n', key, act, { buffer = buf, nowait = true }) end
  map('<CR>', function()
    if not about or not page.is_covered(about) then return finish(vim.fn.line('.')) end
    options.title = ' A window covers what this is about; answer when it is gone '
    vim.api.nvim_win_set_config(win, options)
  end)
  for _, key in ipairs({ '<Esc>', '<C-c>', 'q' }) do
    map(key, function() finish() end)
  end
  -- The number of an answer goes there; Enter takes it.
  local number = 0
  for digit = 0, 9 do
    map(tostring(digit), function()
      number = lines[10 * number + digit] and 10 * number + digit or digit
      if lines[number] then vim.api.nvim_win_set_cursor(win, { number, 0 }) end
    end)
  end
  vim.api.nvim_create_autocmd(
    'WinLeave',
    { buffer = buf, once = true, callback = vim.schedule_wrap(function() finish() end) }
  )
end

---@generic T
---@param items T[]
---@param options { prompt: string, kind: string, format_item: (fun(item: T): string), page?: string }
---@param done fun(item?: T, at?: integer)
return function(items, options, done)
  if not options.page and not log.is_neovims(vim.ui.select) then return vim.ui.select(items, options, done) end
  local lines = {}
  for at, item in ipairs(items) do
    lines[at] = ('%d: %s'):format(at, options.format_item(item))
  end
  show(lines, options.prompt, options.page, function(at) done(at and items[at], at) end)
end

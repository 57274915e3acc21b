--- Lets the person pick one of several: by `vim.ui.select` where a plugin took that over, else in a list at the bottom.
--- Neovim's own asks in a message, which may take the place of all windows. What is approved is always asked in the list:
--- the page that it is about stands above it.
local log = require('aside.log')
local page = require('aside.page')

--- What is said above a list, with the keys that pick.
---@param prompt string
local function title_of(prompt)
  local keys = '<CR> takes one · q closes'
  local room = vim.o.columns - vim.fn.strdisplaywidth(keys) - 5
  return (' %s · %s '):format(log.short(vim.trim(prompt):gsub(':$', ''), room), keys)
end

--- Shows the list, and takes the cursor there.
---@param lines string[]
---@param prompt string
---@param at integer the line on which the cursor is
---@param about? string the page that it is about, which has to be on the screen
---@param picked fun(at?: integer)
local function show(lines, prompt, at, about, picked)
  vim.cmd.stopinsert()
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  vim.api.nvim_buf_set_name(buf, ('aside://%d/list'):format(buf))
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  vim.bo[buf].modifiable = false
  local options = {
    relative = 'editor',
    anchor = 'SW',
    row = vim.o.lines - vim.o.cmdheight - 1,
    col = 0,
    width = vim.o.columns,
    height = 1,
    style = 'minimal',
    border = { '', '─', '', '', '', '', '', '' },
    title = title_of(prompt),
    zindex = page.OVER + 1,
  }
  local win = vim.api.nvim_open_win(buf, true, options)
  vim.w[win].aside_list = true
  if about then page.raise(about) end
  vim.wo[win][0].cursorline, vim.wo[win][0].wrap, vim.wo[win][0].linebreak = true, true, true
  local rows = vim.api.nvim_win_text_height(win, {}).all
  options.height = math.max(1, math.min(rows, vim.o.lines - vim.o.cmdheight - 3))
  vim.api.nvim_win_set_config(win, options)
  vim.api.nvim_win_set_cursor(win, { math.min(at, #lines), 0 })
  vim.cmd('normal! zb')
  local over = false
  local function finish(taken)
    if over then return end
    over = true
    pcall(vim.api.nvim_win_close, win, true)
    picked(taken)
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
---@param options { prompt: string, kind: string, format_item: (fun(item: T): string), page?: string, at?: integer }
---@param done fun(item?: T, at?: integer)
return function(items, options, done)
  if not options.page and not log.is_neovims(vim.ui.select) then return vim.ui.select(items, options, done) end
  local lines = {}
  for at, item in ipairs(items) do
    lines[at] = ('%d: %s'):format(at, (options.format_item(item):gsub('\n', ' ')))
  end
  show(lines, options.prompt, options.at or 1, options.page, function(at) done(at and items[at], at) end)
end

--- A page with a question, above its answers. One that is too long to stand there is entered and scrolled first.
local client = require('aside.client')
local config = require('aside.config')
local log = require('aside.log')
local rows_of = require('aside.rows')

local M = {
  OVER = 210, -- `zindex` of a page about which a list asks: over messages, and what plugins show
}

--- Options of a window without anything that hides or adds.
local PLAIN = {
  statuscolumn = '',
  foldenable = false,
  list = false,
  wrap = true,
  linebreak = false,
  breakindent = false,
  showbreak = '',
  conceallevel = 0,
  scrolloff = 0,
  rightleft = false,
}

local LEAST, MOST = 3, 10 -- rows to write in

local wins = {} ---@type table<string, integer>
local written = {} ---@type table<string, fun()> ends what is being written

--- Rows that lines take when they are wrapped.
local function rows(lines, width)
  local function add(sum, line) return sum + math.max(1, math.ceil(rows_of.width(line) / width)) end
  return vim.iter(lines):fold(0, add)
end

--- A sentence in lines that fit a page, each with whole words.
---@param text string
---@return string[]
function M.sentence(text) return rows_of.words(text, vim.o.columns - 6) end

--- Shows a page in the middle.
---@param options { enter: boolean, footer?: string, height: integer, width?: integer, above?: integer, signs?: integer }
---@return integer buf
function M.show(id, title, lines, options)
  M.close(id)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  vim.bo[buf].modifiable = false
  local width = options.width or 40
  for _, line in ipairs(lines) do
    width = math.max(width, rows_of.width(line))
  end
  local signs = options.signs or 0
  width = math.min(width + signs + 1, vim.o.columns - 4)
  wins[id] = vim.api.nvim_open_win(buf, options.enter, {
    relative = 'editor',
    row = 1,
    col = math.floor((vim.o.columns - width) / 2) - 1,
    width = width,
    height = math.max(1, math.min(rows(lines, width - signs) + (options.above or 0), options.height)),
    border = 'rounded',
    title = (' Aside · %s '):format(title),
    footer = options.footer and (' %s '):format(options.footer) or '',
    footer_pos = 'right',
    style = 'minimal',
    -- Below lists of answers, which many show in a float.
    zindex = 45,
  })
  -- What is on a page is what its lines are.
  for name, value in pairs(PLAIN) do
    vim.api.nvim_set_option_value(name, value, { win = wins[id], scope = 'local' })
  end
  vim.wo[wins[id]][0].signcolumn = signs > 0 and 'yes:1' or 'no'
  config.map('hide', buf, function() M.close(id) end)
  return buf
end

--- Puts a page over what plugins show, while a list asks about it.
function M.raise(id)
  if wins[id] then vim.api.nvim_win_set_config(wins[id], { zindex = M.OVER }) end
end

--- Whether a window lies over a page, other than the one that the person is in.
---@return boolean
function M.is_covered(id)
  local win = wins[id]
  if not win then return false end
  local top, left = rows_of.corner(win)
  local bottom, right = top + vim.api.nvim_win_get_height(win), left + vim.api.nvim_win_get_width(win)
  local zindex = vim.api.nvim_win_get_config(win).zindex
  return vim.iter(vim.api.nvim_tabpage_list_wins(0)):any(function(other)
    local options = vim.api.nvim_win_get_config(other)
    if other == win or other == vim.api.nvim_get_current_win() or options.hide then return false end
    if options.relative == '' or options.zindex < zindex then return false end
    local at, border = vim.fn.win_screenpos(other), options.border and options.border ~= 'none' and 2 or 0
    local height, width = vim.api.nvim_win_get_height(other) + border, vim.api.nvim_win_get_width(other) + border
    return at[1] < bottom and at[1] + height > top and at[2] < right and at[2] + width > left
  end)
end

--- Shows what is asked, and lets the person answer: at once where all of it is on the screen, else by a key.
---@param choices integer how many there are below
function M.ask(id, title, lines, choices, answer)
  -- Below stand the question again, its answers and a line to type in; around it a border.
  local room = vim.o.lines - vim.o.cmdheight - choices - 5
  if rows(lines, vim.o.columns - 4) <= room then
    M.show(id, title, lines, { enter = false, height = room })
    vim.cmd.redraw()
    return answer()
  end
  local hint = config.hint({ { 'choose', 'answer' } })
  local footer = hint ~= '' and hint or ':Aside answer'
  local buf = M.show(id, title, lines, { enter = true, footer = footer, height = vim.o.lines - 6 })
  local seen = {} ---@type table<integer, true> lines that were on the screen
  local function look()
    local win = wins[id]
    if not win or vim.api.nvim_win_get_buf(win) ~= buf or M.is_covered(id) then return end
    for line = vim.fn.line('w0', win), vim.fn.line('w$', win) do
      seen[line] = true
    end
  end
  local function unseen()
    local all = {}
    for line = 1, #lines do
      all[#all + 1] = not seen[line] and line or nil
    end
    return all
  end
  vim.cmd.redraw()
  look()
  vim.api.nvim_create_autocmd({ 'WinScrolled', 'CursorMoved' }, { buffer = buf, callback = look })
  config.map('choose', buf, function()
    look()
    local left = unseen()
    if #left == 0 then return answer() end
    -- The key only brings there what was not on the screen.
    vim.fn.winrestview({ topline = left[1], lnum = left[1] })
    vim.cmd.redraw()
    look()
    local rest = #unseen()
    log.say(rest > 0 and ('%d more lines'):format(rest) or 'that is all of it; answer now', 'WarningMsg')
  end)
end

--- Lets the person write below a question, in as many lines as it takes. What is there when the window goes is a draft.
---@param text string what is there already
---@param acts { send: fun(text: string), other: fun(), left: fun(draft: string) }
function M.write(id, text, acts)
  if written[id] then written[id]() end
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden, vim.bo[buf].textwidth = 'wipe', 0
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, vim.split(text, '\n'))
  local function lines() return vim.api.nvim_buf_get_lines(buf, 0, -1, true) end
  --- The keys of the mode that the person is in.
  local function footer()
    local sends = config.sends()
    local others = sends[1] == 'send' and { { 'reject_all', 'other answers' }, { 'hide', 'later' } } or {}
    local hint = config.hint(vim.list_extend({ sends }, others))
    return (' %s '):format(#others > 0 and hint or hint .. ' · <Esc> for more')
  end
  local options = {
    relative = 'editor',
    anchor = 'SW',
    row = vim.o.lines - vim.o.cmdheight - 1,
    col = math.max(0, math.floor((vim.o.columns - 80) / 2)),
    width = math.min(78, vim.o.columns - 2),
    height = LEAST,
    border = 'rounded',
    title = ' Your answer ',
    footer = footer(),
    footer_pos = 'right',
    style = 'minimal',
    zindex = 46,
  }
  local win = vim.api.nvim_open_win(buf, true, options)
  for name, value in pairs({ wrap = true, linebreak = true, winhighlight = 'NormalFloat:Normal' }) do
    vim.api.nvim_set_option_value(name, value, { win = win, scope = 'local' })
  end
  local sent = false
  local function finish() pcall(vim.api.nvim_win_close, win, true) end
  written[id] = finish
  local function fit()
    if not vim.api.nvim_win_is_valid(win) then return end
    options.height, options.footer = math.min(math.max(rows(lines(), options.width), LEAST), MOST), footer()
    vim.api.nvim_win_set_config(win, options)
  end
  local function send()
    local all = vim.trim(table.concat(lines(), '\n'))
    vim.cmd('stopinsert')
    sent = true
    -- When insert mode is over: its end moves the cursor, and that in the code stays where it is.
    vim.schedule(function()
      finish()
      acts.send(all)
    end)
  end
  config.map('send', buf, send)
  config.map('send_typing', buf, send, 'i')
  config.map('hide', buf, finish)
  config.map('reject_all', buf, acts.other)
  vim.api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI' }, { buffer = buf, callback = fit })
  vim.api.nvim_create_autocmd('ModeChanged', { buffer = buf, callback = vim.schedule_wrap(fit) })
  vim.api.nvim_create_autocmd('BufWinLeave', {
    buffer = buf,
    once = true,
    callback = function()
      local draft = table.concat(lines(), '\n')
      if written[id] == finish then written[id] = nil end
      if not sent then vim.schedule(function() acts.left(draft) end) end
    end,
  })
  fit()
  vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(buf), 0 })
  vim.cmd('startinsert!')
end

--- The path under the cursor, and the line that is named behind it, where the cursor may be, too.
---@return string name
---@return string? line
local function path_here()
  local text, column = vim.api.nvim_get_current_line(), vim.api.nvim_win_get_cursor(0)[2] + 1
  for first, name, line, last in text:gmatch('()([^%s`"\'()%[%]:]+):(%d+)()') do
    if first <= column and column < last then return name, line end
  end
  return vim.fn.expand('<cfile>') --[[@as string]]
end

--- `gf` on a path in an answer goes to it in the window of the code, at the line that is named behind it.
function M.map_paths(buf)
  vim.keymap.set('n', 'gf', function()
    local name, line = path_here()
    if vim.fn.filereadable(name) ~= 1 then return log.say('there is no file ' .. name, 'WarningMsg') end
    client.open(name)
    if line then vim.cmd('silent! ' .. line) end
  end, { buffer = buf, desc = 'Aside: opens the file in the window of the code' })
end

--- Closes the pages of all questions but one, which go on waiting.
---@param id string
function M.close_others(id)
  for _, other in ipairs(vim.list_extend(vim.tbl_keys(wins), vim.tbl_keys(written))) do
    if other ~= id then M.close(other) end
  end
end

function M.close(id)
  if written[id] then written[id]() end
  local win = wins[id]
  wins[id] = nil
  if win and vim.api.nvim_win_is_valid(win) then vim.api.nvim_win_close(win, true) end
end

return M

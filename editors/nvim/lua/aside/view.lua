--- An answer on the screen: a page of markdown in a float beside the code, or in a split. What comes in is written
--- twenty times a second at the most.
local config = require('aside.config')
local log = require('aside.log')

local TICK = 50 -- milliseconds
local OUTPUT = 2000 -- lines of one tool that are shown
local BESIDE = 22 -- columns for what stands beside a tool
local FOLDED = '│ '
local FRAMES = { '⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏' }

local namespace = vim.api.nvim_create_namespace('aside.view')

---@class aside.Line one line of the page with a state behind it: a tool, or a question
---@field mark integer
---@field started integer milliseconds
---@field lines integer lines of output below it
---@field running boolean
---@field waits? boolean for a person
---@field partial string output without its line break

---@class aside.View
---@field buf integer
---@field conversation? string
---@field title string
---@field anchor? { buf: integer, row: integer } the code that it is about
---@field busy boolean
---@field private pieces string[] text that is not written yet
---@field private tail? string what the page ends with: text or reasoning of a step, or a line
---@field private lines table<string, aside.Line>
---@field private steps table<integer, integer> where each step begins
---@field private timer? uv.uv_timer_t
local View = {}
View.__index = View

---@type table<integer, aside.View> by buffer
local views = {}

---@param anchor? { buf: integer, row: integer }
---@return aside.View
function View.new(anchor)
  local buf = vim.api.nvim_create_buf(false, true)
  local self = setmetatable({ buf = buf, anchor = anchor, title = 'Aside', busy = false }, View)
  self.pieces, self.lines, self.steps = {}, {}, {}
  views[buf] = self
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].undolevels = -1
  vim.bo[buf].modifiable = false
  vim.treesitter.language.register('markdown', 'aside')
  vim.bo[buf].filetype = 'aside'
  pcall(vim.treesitter.start, buf, 'markdown')
  self:map()
  -- One that nobody sees and nobody writes is not kept.
  for other, view in pairs(views) do
    if view ~= self and not view.busy and not view:window() then
      views[other] = nil
      pcall(vim.api.nvim_buf_delete, other, { force = true })
    end
  end
  return self
end

--- The one that the person is in, else one that is on the screen; else none.
---@return aside.View?
function View.visible()
  local shown
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local view = views[vim.api.nvim_win_get_buf(win)]
    if view and (not shown or win == vim.api.nvim_get_current_win()) then
      shown = view
    end
  end
  return shown
end

--- The one of a conversation, or the one that was made last.
---@param conversation? string
---@return aside.View?
function View.of(conversation)
  local newest
  for _, view in pairs(views) do
    if conversation and view.conversation == conversation then
      return view
    end
    newest = (not newest or view.buf > newest.buf) and view or newest
  end
  return not conversation and newest or nil
end

---@return integer? win
function View:window()
  return vim.fn.win_findbuf(self.buf)[1]
end

function View:map()
  local keys = config.get().keys
  local acts = {
    hide = function()
      self:hide()
    end,
    pin = function()
      self:pin()
    end,
    reply = function()
      require('aside.command').run({ fargs = { 'ask' }, args = 'ask', range = 0 })
    end,
  }
  for name, act in pairs(acts) do
    if keys[name] then
      vim.keymap.set('n', keys[name], act, { buffer = self.buf, nowait = true, desc = 'Aside: ' .. name })
    end
  end
end

--- Where the float stands: at the right of the window with the code, level with it.
---@return vim.api.keyset.win_config
function View:place()
  local options = config.get()
  local win = self.anchor and vim.fn.bufwinid(self.anchor.buf) or -1
  win = win > 0 and win or vim.api.nvim_get_current_win()
  if vim.api.nvim_win_get_config(win).relative ~= '' then
    win = vim.fn.win_getid(1)
  end
  local columns, rows = vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win)
  local width = math.max(20, math.min(options.width, columns >= 90 and math.floor(columns / 2) or columns - 4))
  local page = self:window()
  local text = page and vim.api.nvim_win_text_height(page, {}).all or 1
  local height = math.max(1, math.min(math.max(text, 3), options.height, rows - 3))
  local row = self.anchor and self.anchor.row - (vim.fn.line('w0', win) - 1) or 0
  local keys = options.keys
  local hint = {}
  for _, name in ipairs({ 'reply', 'pin', 'hide' }) do
    if keys[name] then
      hint[#hint + 1] = keys[name] .. ' ' .. name
    end
  end
  return {
    relative = 'win',
    win = win,
    anchor = 'NE',
    row = math.max(0, math.min(row, rows - height - 2)),
    col = columns,
    width = width,
    height = height,
    border = 'rounded',
    title = ' ' .. log.short(self.title, width - 4) .. ' ',
    footer = ' ' .. (self.busy and 'working · ' or '') .. table.concat(hint, ' · ') .. ' ',
    footer_pos = 'right',
    zindex = 40,
  }
end

---@param win integer
local function dress(win)
  local options = { wrap = true, linebreak = true, conceallevel = 2, foldenable = true, foldlevel = 0 }
  options.foldmethod = 'expr'
  options.foldexpr = ("getline(v:lnum)[:%d]==#'%s'"):format(#FOLDED - 1, FOLDED)
  options.foldtext = "'│ '.(v:foldend-v:foldstart+1).' lines'"
  options.fillchars = 'fold: ,eob: '
  options.winhighlight = 'Folded:Comment'
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = win, scope = 'local' })
  end
end

--- Shows it, without taking the cursor unless it is asked to.
---@param enter? boolean
function View:show(enter)
  local win = self:window()
  if not win then
    local place = self:place()
    place.style = 'minimal'
    place.noautocmd = true
    win = vim.api.nvim_open_win(self.buf, false, place)
    dress(win)
    self:redraw()
  end
  if enter then
    vim.api.nvim_set_current_win(win)
  end
end

--- Closes its windows; the page is kept.
function View:hide()
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    pcall(vim.api.nvim_win_close, win, true)
  end
end

--- Closes the floats of all answers; one that is pinned stays. Gives back how to show them again.
---@return fun()
function View.clear()
  local hidden = {}
  for _, view in pairs(views) do
    local win = view:window()
    if win and vim.api.nvim_win_get_config(win).relative ~= '' then
      view:hide()
      hidden[#hidden + 1] = view
    end
  end
  return function()
    for _, view in ipairs(hidden) do
      if vim.api.nvim_buf_is_valid(view.buf) then
        view:show()
      end
    end
  end
end

--- Moves it into a split of its own.
function View:pin()
  self:hide()
  vim.cmd('botright vertical sbuffer ' .. self.buf)
  dress(0)
  vim.wo.winfixwidth = true
  vim.cmd('normal! G')
end

--- Writes lines at a place of the page, and follows its end in each window that shows it.
---@param write fun(last: integer) gets the number of the last line
function View:change(write)
  local buf = self.buf
  local last = vim.api.nvim_buf_line_count(buf)
  local follow = {}
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local here = win == vim.api.nvim_get_current_win()
    local at_end = here and vim.api.nvim_win_get_cursor(win)[1] == last or not here and vim.fn.line('w$', win) >= last
    follow[win] = at_end or nil
  end
  vim.bo[buf].modifiable = true
  write(last)
  vim.bo[buf].modifiable = false
  self:redraw()
  for win in pairs(follow) do
    vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(buf), 0 })
    -- What fits is shown from its beginning, also when the window has just grown.
    if vim.api.nvim_win_text_height(win, {}).all <= vim.api.nvim_win_get_height(win) then
      vim.api.nvim_win_call(win, function()
        vim.fn.winrestview({ topline = 1 })
      end)
    end
  end
end

--- The float's size, title and footer. One of another tab page stays as it is until it is seen again.
function View:redraw()
  local win = self:window()
  local here = win and vim.api.nvim_win_get_tabpage(win) == vim.api.nvim_get_current_tabpage()
  if win and here and vim.api.nvim_win_get_config(win).relative ~= '' then
    local place = self:place()
    local key = vim.inspect(place)
    if key ~= self.drawn then
      self.drawn = key
      vim.api.nvim_win_set_config(win, place)
    end
  end
end

--- Adds text at the end.
---@param text string
function View:append(text)
  self:change(function(last)
    local column = #vim.api.nvim_buf_get_lines(self.buf, last - 1, last, true)[1]
    vim.api.nvim_buf_set_text(self.buf, last - 1, column, last - 1, column, vim.split(text, '\n'))
  end)
end

--- Writes what waits.
function View:flush()
  if #self.pieces > 0 then
    local text = table.concat(self.pieces)
    self.pieces = {}
    self:append(text)
  end
end

--- Begins something new: a blank line stands before it, but not between two tools.
---@param kind string
function View:part(kind)
  if self.tail == kind then
    return
  end
  local before = self.tail
  self.tail = kind
  self:flush()
  if before then
    self.pieces[1] = (before == 'line' and kind == 'line') and '\n' or '\n\n'
  end
end

--- A piece of the answer, or of what the model thinks.
---@param kind 'text'|'reasoning'
---@param step integer
---@param text string
function View:piece(kind, step, text)
  if self.tail ~= kind .. step then
    self:part(kind .. step)
    self:flush()
    self.steps[step] = self.steps[step] or self:mark_end()
    if kind == 'reasoning' then
      self.pieces[1] = '*thinking*\n' .. FOLDED
    end
  end
  if kind == 'reasoning' then
    text = text:gsub('\n', '\n' .. FOLDED)
  end
  self.pieces[#self.pieces + 1] = text
end

---@return integer mark
function View:mark_end()
  local row = vim.api.nvim_buf_line_count(self.buf) - 1
  return vim.api.nvim_buf_set_extmark(self.buf, namespace, row, 0, { right_gravity = false })
end

---@param mark integer
---@return integer row
function View:row(mark)
  return vim.api.nvim_buf_get_extmark_by_id(self.buf, namespace, mark, {})[1]
end

--- What the person said.
---@param text string
function View:said(text)
  self:part('said' .. #text .. vim.uv.hrtime())
  self.pieces[#self.pieces + 1] = '> ' .. text:gsub('\n', '\n> ')
  self:flush()
end

--- A line that stands for something which runs: a tool, or a question.
---@param id string
---@param text string
---@param waits? boolean for a person
function View:line(id, text, waits)
  if self.lines[id] then
    return
  end
  self:part('line')
  -- A line after a line is a part of its own.
  if #self.pieces == 0 and vim.api.nvim_buf_line_count(self.buf) > 1 then
    self.pieces[1] = '\n'
  end
  -- Beside it stands how it is.
  local win = self:window()
  local room = (win and vim.api.nvim_win_get_width(win) or config.get().width) - BESIDE
  self.pieces[#self.pieces + 1] = '`' .. log.short(text:gsub('`', ''), math.max(room, 20)) .. '`'
  self:flush()
  local line =
    { mark = self:mark_end(), started = vim.uv.now(), lines = 0, running = true, partial = '', waits = waits }
  self.lines[id] = line
  self:tick()
end

--- Output of a tool, below its line.
---@param id string
---@param text string
function View:output(id, text)
  local line = self.lines[id]
  if not line or line.lines >= OUTPUT then
    return
  end
  text = line.partial .. text:gsub('\27%[[%d;?]*%a', ''):gsub('\r', '')
  local lines = vim.split(text, '\n')
  line.partial = table.remove(lines)
  if #lines == 0 then
    return
  end
  for at = 1, #lines do
    lines[at] = FOLDED .. lines[at]
  end
  if line.lines + #lines > OUTPUT then
    lines = vim.list_slice(lines, 1, OUTPUT - line.lines - 1)
    lines[#lines + 1] = FOLDED .. '… and more'
  end
  self:flush()
  self:change(function()
    local row = self:row(line.mark) + line.lines + 1
    vim.api.nvim_buf_set_lines(self.buf, row, row, true, lines)
  end)
  line.lines = line.lines + #lines
end

--- What runs is over.
---@param id string
---@param text string
---@param highlight? string
function View:finish(id, text, highlight)
  local line = self.lines[id]
  if line then
    self:output(id, line.partial ~= '' and '\n' or '')
    line.running = false
    self:remark(line, text, highlight or 'Comment')
  end
end

---@param line aside.Line
---@param text string
---@param highlight string
function View:remark(line, text, highlight)
  vim.api.nvim_buf_set_extmark(self.buf, namespace, self:row(line.mark), 0, {
    id = line.mark,
    virt_text = { { ' ' .. log.short(text, BESIDE - 2), highlight } },
    right_gravity = false,
  })
end

--- Something to know, a paragraph of its own.
---@param text string
function View:note(text)
  self:part('note' .. vim.uv.hrtime())
  self.pieces[#self.pieces + 1] = '*' .. text:gsub('%s+', ' ') .. '*'
  self:flush()
end

--- Forgets what was shown of a step.
---@param step integer
function View:discard(step)
  self:flush()
  local mark = self.steps[step]
  if mark then
    self:change(function()
      vim.api.nvim_buf_set_lines(self.buf, self:row(mark), -1, true, { '' })
    end)
    self.tail = 'discarded'
  end
end

--- The whole page anew.
---@param text string
function View:set(text)
  self:change(function()
    vim.api.nvim_buf_set_lines(self.buf, 0, -1, true, vim.split(vim.trim(text), '\n'))
  end)
  self.tail = 'page'
end

--- Writes and turns the spinners while something runs.
---@param busy? boolean
function View:tick(busy)
  if busy ~= nil then
    self.busy = busy
    self:flush()
    self:redraw()
  end
  if self.busy and not self.timer then
    self.timer = assert(vim.uv.new_timer())
    self.timer:start(
      TICK,
      TICK,
      vim.schedule_wrap(function()
        if self.timer and vim.api.nvim_buf_is_valid(self.buf) then
          self:flush()
          self:spin()
        end
      end)
    )
  elseif not self.busy and self.timer then
    self.timer:close()
    self.timer = nil
  end
end

--- A spinner turns beside what runs; where a person is waited for, nothing turns.
function View:spin()
  local now, waits = vim.uv.now(), false
  for _, line in pairs(self.lines) do
    waits = waits or line.running and line.waits
  end
  for _, line in pairs(self.lines) do
    if line.running and line.waits then
      self:remark(line, 'waits for you', 'AsideWaiting')
    elseif line.running then
      local frame = waits and '…' or FRAMES[math.floor(now / 100) % #FRAMES + 1]
      local seconds = waits and 0 or math.floor((now - line.started) / 1000)
      self:remark(line, frame .. (seconds > 0 and (' %d s'):format(seconds) or ''), 'AsideRunning')
    end
  end
end

return View

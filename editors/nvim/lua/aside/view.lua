--- An answer on the screen: a page of markdown in a float beside the code, or in a split. What comes in is written
--- twenty times a second at the most.
local beside = require('aside.beside')
local client = require('aside.client')
local config = require('aside.config')
local log = require('aside.log')
local place_of = require('aside.place')

local TICK = 50 -- milliseconds
local OUTPUT = 2000 -- lines of one tool that are shown
local COLOURED = 1000 -- lines of a page that is shown as markdown; a longer one is plain text
local TITLE = 10 -- columns of a title, at least
local STALLED = 10 -- seconds without anything new, after which that is said
local FOLDED, OPEN = '│ ', '  ' -- before lines below that of a tool

local namespace = vim.api.nvim_create_namespace('aside.view')

---@class aside.Line a line of the page that stands for what runs: a tool, or a question
---@field mark integer
---@field started integer milliseconds
---@field lines integer lines of output below it
---@field running boolean
---@field waits? boolean for a person
---@field call? string that it is about
---@field asks? string the question whether the call may run, which this line asks
---@field decision? string how that was answered, and by whom
---@field partial string output without its line break
---@field text string of the line itself
---@field whole string what was not cut of it
---@field beside? string what is said beside it, when it is over
---@field highlight? string of that

---@class aside.Anchor the code that an answer is about
---@field buf integer
---@field row integer the first line, from 0
---@field last integer the last line

--- What a conversation took.
---@class aside.Spent
---@field before number US dollars of the turns before
---@field turn_cost? number US dollars of the last turn; nil where there is no price
---@field context integer tokens that the conversation has; 0 where nobody has counted them
---@field window? integer tokens that the model can take

---@class (partial) aside.View
---@field buf integer
---@field message? integer the buffer in which the person writes to it
---@field conversation? string
---@field title string
---@field spent aside.Spent
---@field anchor? aside.Anchor
---@field busy boolean
---@field changed integer when something came last, in milliseconds
---@field private stated? string the state that is on the screen
---@field hidden? boolean it is shown only when the person asks for it
---@field lines table<string, aside.Line> those of the last turn
---@field private all_lines aside.Line[]
---@field private laid? integer columns that the lines are laid out for
---@field private folded integer lines that may be in a fold
---@field private pieces string[] text that is not written yet
---@field private below integer lines below the text that is being written
---@field private tail? string what the page ends with: text or reasoning of a step, a line, or a paragraph
---@field private steps table<integer, integer> lines that stood there before a step of the last turn
---@field turn? string the last turn
---@field private cut? { step: integer, before: integer } the step of which a part was written when the server ended
---@field private timer? uv.uv_timer_t
---@field private placed? vim.api.keyset.win_config
local View = {
  WAITS = 'waits for you',
  --- Options of the next turns, set by `:Aside model` and `:Aside mode`; and the mode that is configured.
  choice = {}, ---@type { model?: string, mode?: string, configured?: string }
}
View.__index = setmetatable(View, { __index = beside })

local views = {} ---@type table<integer, aside.View> by buffer

---@return aside.View
function View.new()
  -- One that nobody sees and nobody writes is not kept.
  for _, view in pairs(views) do
    if not view.busy and not view:window() and not view:has_draft() then view:forget() end
  end
  local buf = vim.api.nvim_create_buf(false, true)
  local fields =
    { buf = buf, title = 'Aside', busy = false, folded = 0, below = 0, pieces = {}, lines = {}, steps = {} }
  fields.all_lines, fields.changed = {}, vim.uv.now()
  fields.spent = { before = 0, context = 0 }
  local self = setmetatable(fields, View)
  views[buf] = self
  vim.bo[buf].bufhidden, vim.bo[buf].undolevels, vim.bo[buf].modifiable = 'hide', -1, false
  vim.treesitter.language.register('markdown', 'aside')
  vim.bo[buf].filetype = 'aside'
  vim.api.nvim_buf_set_name(buf, ('aside://%d/answer'):format(buf))
  pcall(vim.treesitter.start, buf, 'markdown')
  -- The turn goes on after the person wipes out the page.
  local function forget() views[buf] = nil end
  vim.api.nvim_create_autocmd('BufUnload', { buffer = buf, once = true, callback = forget })
  local moved = { 'CursorMoved', 'CursorMovedI', 'WinScrolled' }
  local group = vim.api.nvim_create_augroup('aside.view', {})
  vim.api.nvim_create_autocmd(moved, { group = group, callback = View.stand_aside })
  local sized = { 'VimResized', 'WinResized', 'WinEnter' }
  vim.api.nvim_create_autocmd(sized, { group = group, callback = vim.schedule_wrap(View.refit) })
  config.map('hide', buf, function() self:hide() end)
  config.map('pin', buf, function() require('aside.pane').show(self) end)
  config.map('reply', buf, function() require('aside.pane').reply(self) end)
  require('aside.page').map_paths(buf)
  return self
end

--- Whether the person began to write to it.
---@return boolean
function View:has_draft()
  local buf = self.message
  return buf ~= nil
    and vim.api.nvim_buf_is_valid(buf)
    and vim.iter(vim.api.nvim_buf_get_lines(buf, 0, -1, true)):join('') ~= ''
end

--- All that are kept.
---@return aside.View[]
function View.all() return vim.tbl_values(views) end

--- The one that the person is in, else one that is on the screen: a float was asked for later than a pane; else none.
---@return aside.View?
function View.visible()
  local wins = vim.api.nvim_tabpage_list_wins(0)
  local function is_float(win) return vim.api.nvim_win_get_config(win).relative ~= '' and not vim.w[win].aside_pane end
  local floats, others =
    vim.tbl_filter(is_float, wins), vim.tbl_filter(function(win) return not is_float(win) end, wins)
  wins = vim.list_extend({ vim.api.nvim_get_current_win() }, vim.list_extend(floats, others))
  local by_message = {}
  for _, view in pairs(views) do
    by_message[view.message or 0] = view
  end
  local function of(win)
    local buf = vim.api.nvim_win_get_buf(win)
    return views[buf] or by_message[buf]
  end
  return vim.iter(wins):map(of):next()
end

--- The one of a conversation, or the one that was made last.
---@param conversation? string
---@return aside.View?
function View.of(conversation)
  local found ---@type aside.View?
  for _, view in pairs(views) do
    local fits = not conversation and not view.hidden or conversation and view.conversation == conversation
    if fits and (not found or view.buf > found.buf) then found = view end
  end
  return found
end

---@return integer? win
function View:window() return vim.fn.win_findbuf(self.buf)[1] end

--- Whether there is still a page to write on.
function View:exists() return vim.api.nvim_buf_is_loaded(self.buf) end

--- Rows that the page takes in a window, at least. Those of a long page are not measured: all of it would be parsed.
function View:rows(win)
  local unfolded = vim.api.nvim_buf_line_count(self.buf) - self.folded
  return unfolded > vim.o.lines and unfolded or vim.api.nvim_win_text_height(win, {}).all
end

--- Whether it is in a float beside the code, and not in a pane.
function View:floats()
  local win = self:window()
  return win and vim.api.nvim_win_get_config(win).relative ~= '' and not vim.w[win].aside_pane or false
end

--- Options of each window that shows an answer.
function View.dress(win)
  local options = {
    wrap = true,
    linebreak = true,
    number = false,
    relativenumber = false,
    signcolumn = 'no',
    spell = false,
    list = false,
    -- What is hidden of a text is no more what was said, or printed.
    conceallevel = 0,
    foldmethod = 'expr',
    foldexpr = ("getline(v:lnum)[:%d]==#'%s'"):format(#FOLDED - 1, FOLDED),
    foldtext = "v:lua.require'aside.view'.foldtext()",
    foldenable = true,
    foldlevel = 0,
    fillchars = 'fold: ,eob: ',
    winfixbuf = true,
    -- Neovim gives a window what the last one with the buffer had.
    winbar = '',
    winhighlight = 'Folded:Comment',
  }
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = win, scope = 'local' })
  end
end

--- Text of a closed fold: its lines are counted, and of what runs the last one is shown.
---@return string
function View.foldtext()
  local last = vim.v.foldend
  local count = last - vim.v.foldstart + 1
  local counted = ('%s%d line%s'):format(FOLDED, count, count > 1 and 's' or '')
  local view = views[vim.api.nvim_get_current_buf()]
  local function prints(line) return line.running and line.lines > 0 and view:row(line) + 1 + line.lines == last end
  if not view or not vim.iter(vim.tbl_values(view.lines)):any(prints) then return counted end
  local text = vim.api.nvim_buf_get_lines(view.buf, last - 1, last, true)[1]
  return ('%s · %s'):format(counted, (text:sub(#FOLDED + 1):gsub('%z', '␀')))
end

--- Shows it, without taking the cursor unless it is asked to. Two floats would cover one another.
function View:show(enter)
  if not self:window() then
    View.clear()
    local place = vim.tbl_extend('error', place_of(self), { style = 'minimal', noautocmd = true })
    local win = vim.api.nvim_open_win(self.buf, false, place)
    View.dress(win)
    self.placed = nil
    self:redraw()
    self:to_end(win)
  end
  if enter then
    vim.fn.win_gotoid(self:window() or 0)
    self:redraw()
  end
end

--- Goes to its end; a text that fits is shown from its beginning.
---@param win integer
function View:to_end(win)
  vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(self.buf), 0 })
  local fits = self:rows(win) <= vim.api.nvim_win_get_height(win)
  vim.api.nvim_win_call(win, function()
    if fits then
      vim.fn.winrestview({ topline = 1 })
    else
      vim.cmd('normal! zb')
    end
  end)
end

--- Removes it, with its windows.
function View:forget()
  self:hide()
  views[self.buf] = nil
  for _, buf in ipairs({ self.buf, self.message }) do
    pcall(vim.api.nvim_buf_delete, buf, { force = true })
  end
end

--- Closes its windows; the page is kept.
function View:hide()
  for _, buf in ipairs({ self.message or self.buf, self.buf }) do
    vim.iter(vim.fn.win_findbuf(buf)):each(function(win) pcall(vim.api.nvim_win_close, win, true) end)
  end
end

--- Closes the float of an answer; one that is pinned stays. Gives back how to show it again.
function View.clear()
  local shown = vim.iter(vim.tbl_values(views)):filter(View.floats):totable()
  vim.iter(shown):each(View.hide)
  return function()
    vim.iter(shown):filter(View.exists):each(function(view) view:show() end)
  end
end

--- Changes the page, and follows its end in each window where the cursor is there.
function View:change(change)
  if not self:exists() then return end
  local buf = self.buf
  self.changed = vim.uv.now()
  local last = vim.api.nvim_buf_line_count(buf)
  local function at_end(win) return vim.api.nvim_win_get_cursor(win)[1] == last end
  local follow = vim.tbl_filter(at_end, vim.fn.win_findbuf(buf))
  vim.bo[buf].modifiable = true
  change()
  vim.bo[buf].modifiable = false
  -- All of it is parsed with each tick, which Neovim waits for.
  if vim.api.nvim_buf_line_count(buf) > COLOURED then vim.treesitter.stop(buf) end
  self:redraw()
  -- Also when the window has just grown.
  for _, win in ipairs(follow) do
    self:to_end(win)
  end
  if #follow > 0 then self:redraw() end
end

--- The float's size, title and footer; the title of a split. One of another tab page stays as it is until it is seen
--- again.
function View:redraw()
  local win = self:window()
  if not win or vim.fn.win_id2win(win) == 0 then return end
  self:lay_out()
  self.stated = self:state()
  if not self:floats() then
    local width = vim.api.nvim_win_get_width(win)
    local facts = self:facts(width - TITLE - 3)
    local room = width - vim.fn.strdisplaywidth(facts) - 3
    local title = log.short(self.title, math.max(room, TITLE)):gsub('%%', '%%%%')
    vim.wo[win][0].winbar = (' %s%%= %%<%s '):format(title, facts:gsub('%%', '%%%%'))
    return
  end
  local place = place_of(self)
  if vim.deep_equal(place, self.placed) then return end
  self.placed = place
  vim.api.nvim_win_set_config(win, place)
end

--- What its turn does, in words; nil where none runs.
---@return string?
function View:state()
  if not self.busy then return end
  local running = vim.tbl_filter(function(line) return line.running end, vim.tbl_values(self.lines))
  if vim.iter(running):any(function(line) return line.waits end) then return View.WAITS end
  -- A tool has seconds of its own.
  local idle = #running == 0 and math.floor((vim.uv.now() - self.changed) / 1000) or 0
  return idle >= STALLED and ('nothing for %d s'):format(idle) or 'working'
end

--- What its turn does, the model and the mode of the next one, what the conversation cost, and how full the model's
--- window is. Where that is too long, it is without the model, then without more.
---@param room? integer columns
---@return string
function View:facts(room)
  local choice, spent = View.choice, self.spent
  local cost = spent.before + (spent.turn_cost or 0)
  local full = spent.window and spent.context > 0 and spent.context / spent.window
  local parts = {
    self.stated or false,
    vim.fs.basename(choice.model or client.status.model or 'no model yet'),
    choice.mode or choice.configured or false,
    cost > 0 and ('$%.4f'):format(cost),
    full and ('%d %% of %dk'):format(math.ceil(full * 100), spent.window / 1000),
  }
  parts = vim.tbl_filter(function(part) return part ~= false end, parts)
  local function text() return table.concat(parts, ' · ') end
  while room and #parts > 1 and vim.fn.strdisplaywidth(text()) > room do
    table.remove(parts, self.stated and 2 or 1)
  end
  return text()
end

--- Makes room for the line of the cursor.
function View.stand_aside()
  for _, view in pairs(views) do
    if view:floats() and vim.api.nvim_get_current_win() ~= view:window() then view:redraw() end
  end
end

--- Fits the answers to windows of another size, and to a cursor that came or went.
---@param event { event: string }
function View.refit(event)
  if event.event == 'WinEnter' then log.clear_ruler() end
  for _, view in pairs(views) do
    local win = view:window()
    local follow = win and vim.api.nvim_win_get_cursor(win)[1] == vim.api.nvim_buf_line_count(view.buf)
    if win then view:redraw() end
    if win and follow and event.event == 'VimResized' then view:to_end(win) end
  end
end

--- Writes what waits.
function View:flush()
  if #self.pieces == 0 then return end
  -- Line breaks at its end are written with what follows, if the same text goes on.
  local text, breaks = table.concat(self.pieces):match('^(.-)(\n*)$')
  self.pieces = {}
  if breaks ~= '' then self.pieces[1] = breaks end
  if text == '' then return end
  local lines = vim.split(text, '\n')
  self:change(function()
    local row = vim.api.nvim_buf_line_count(self.buf) - 1 - self.below
    if lines[1] ~= '' then return vim.api.nvim_buf_set_text(self.buf, row, -1, row, -1, lines) end
    -- Of a fold whose last line is written to, Neovim 0.10 leaves the first line out.
    vim.api.nvim_buf_set_lines(self.buf, row + 1, row + 1, true, vim.list_slice(lines, 2))
  end)
end

--- Adds text at the end, with the next tick. Something new begins after a blank line, a line on the next one.
function View:put(kind, text)
  if self.below > 0 and kind ~= self.tail then
    self:flush()
    self.below, self.tail = 0, 'paragraph'
  end
  local gap = not self.tail and '' or kind == 'line' and self.tail == 'line' and '\n' or '\n\n'
  if kind == self.tail and kind ~= 'line' and kind ~= 'paragraph' then
    gap = ''
  else
    self:flush()
    self.pieces = {}
  end
  self.tail = kind
  self.pieces[#self.pieces + 1] = gap .. text
end

--- A piece of the answer, or of what the model thinks.
---@param kind 'text'|'reasoning'
function View:piece(kind, step, text)
  local part, cut = kind .. step, self.cut
  self.cut = nil
  if cut and cut.step == step then
    self.steps[step] = cut.before
    self:discard(step)
  end
  if kind == 'reasoning' then
    local folded, breaks = text:gsub('\n', '\n' .. FOLDED)
    text = (self.tail ~= part and '*thinking*\n' .. FOLDED or '') .. folded
    self.folded = self.folded + breaks + 1
  end
  if not self.steps[step] then
    self:flush()
    self.steps[step] = self.tail and vim.api.nvim_buf_line_count(self.buf) or 0
  end
  self:put(part, text)
end

--- Its server ended. A text of which it wrote a part is written anew when the turn goes on.
---@param why string
function View:break_off(why)
  local step = tonumber((self.tail or ''):match('^%a+(%d+)$')) --[[@as integer?]]
  self.cut = step and self.below == 0 and { step = step, before = self.steps[step] } or nil
  self:note(why)
end

--- Forgets what was shown of a step, with its lines.
function View:discard(step)
  local before = self.steps[step]
  if not before then return end
  self:flush()
  local function is_left(line) return self:row(line) < before end
  self.all_lines = vim.tbl_filter(is_left, self.all_lines)
  for id, line in pairs(self.lines) do
    self.lines[id] = is_left(line) and line or nil
  end
  self:change(function() vim.api.nvim_buf_set_lines(self.buf, before, -1, true, {}) end)
  self.tail, self.steps[step], self.below = before > 0 and 'paragraph' or nil, nil, 0
end

--- Adds a paragraph. While a text is written, it stands below that, and in no word of it.
function View:paragraph(text)
  self:flush()
  if self.busy and self.tail and self.tail:find('^text') then
    local lines = vim.split('\n' .. text, '\n')
    self:change(function() vim.api.nvim_buf_set_lines(self.buf, -1, -1, true, lines) end)
    self.below = self.below + #lines
  else
    self:put('paragraph', text)
    self:flush()
  end
end

--- Adds a message of the person, and what went along with it.
---@param along? string
function View:said(text, along)
  local rest = along and along ~= '' and ('\n> (with %s)'):format(along) or ''
  self:paragraph('> ' .. text:gsub('\n', '\n> ') .. rest)
end

--- A turn begins, or goes on: what is told of it from now on is not of the one before.
---@param id? string
function View:begin_turn(id)
  self.steps = {}
  if id and id == self.turn then return end
  -- Another turn may name its calls as this one did.
  self.lines, self.cut = {}, nil
  local spent = self.spent
  self.turn, spent.before = id, spent.before + (spent.turn_cost or 0)
  spent.turn_cost = nil
end

--- Takes a note back that holds no more, where the page ends with it.
---@param text string its end
function View:take_back(text)
  if not self:exists() then return end
  self:flush()
  local count = vim.api.nvim_buf_line_count(self.buf)
  local above, last = unpack(vim.api.nvim_buf_get_lines(self.buf, math.max(0, count - 2), -1, true))
  if not vim.endswith(last or '', text .. '*') then return end
  local lines = above == '' and 2 or 1
  self:change(function() vim.api.nvim_buf_set_lines(self.buf, count - lines, -1, true, {}) end)
  self.tail = 'paragraph'
end

--- Something to know.
function View:note(text) self:paragraph('*' .. text:gsub('%s+', ' ') .. '*') end

--- A line that stands for something which runs: a tool, or a question. One that was interrupted runs again.
---@param waits? boolean for a person
function View:line(id, text, waits)
  -- The rest of the window shows the state beside the line.
  local whole = text:gsub('`', '')
  text = self:titled(whole)
  local known = self.lines[id]
  if known then
    known.running, known.whole, known.beside = true, whole, nil
    return self:retitle(known, text)
  end
  self:put('line', text)
  self:flush()
  local mark = vim.api.nvim_buf_set_extmark(self.buf, namespace, vim.api.nvim_buf_line_count(self.buf) - 1, 0, {})
  local line = {
    mark = mark,
    started = vim.uv.now(),
    lines = 0,
    running = true,
    partial = '',
    waits = waits,
    text = text,
    whole = whole,
  }
  self.lines[id] = line
  table.insert(self.all_lines, line)
end

--- A line stands for something else from now on, where there is one.
---@return boolean
function View:rename(from, to)
  local line = self.lines[from]
  self.lines[to], self.lines[from] = line or self.lines[to], nil
  return line ~= nil
end

--- Output of a tool, below its line in a fold.
function View:output(id, text) self:write_below(id, text, FOLDED) end

--- What is said of a tool, below its line and in no fold.
function View:explain(id, text) self:write_below(id, text, OPEN) end

---@private
---@param lead string before each line of the text
function View:write_below(id, text, lead)
  local line = self.lines[id]
  if not line or line.lines >= OUTPUT then return end
  local lines = vim.split(line.partial .. text:gsub('\27%[[%d;?]*%a', ''):gsub('\r', ''), '\n')
  line.partial = table.remove(lines)
  if #lines == 0 then return end
  if line.lines + #lines > OUTPUT then
    lines = vim.list_slice(lines, 1, OUTPUT - line.lines - 1)
    lines[#lines + 1] = '… and more'
  end
  lines = vim.tbl_map(function(one) return lead .. one end, lines)
  self:flush()
  local row = self:row(line) + line.lines + 1
  self:change(function() vim.api.nvim_buf_set_lines(self.buf, row, row, true, lines) end)
  line.lines, self.folded = line.lines + #lines, self.folded + (lead == FOLDED and #lines or 0)
end

--- Counts from now on how long the call of a question runs: until now it waited for a person.
---@param id string of the question
function View:restart(id)
  local question = self.lines[id]
  local line = question and self.lines[question.call or '']
  if line then line.started = vim.uv.now() end
end

--- Marks a running line as over.
function View:finish(id, text, highlight)
  local line = self.lines[id]
  if not line or not self:exists() then return end
  if line.partial ~= '' then self:output(id, '\n') end
  line.running, line.beside, line.highlight = false, text, highlight or 'Comment'
  self:lay(line)
end

--- Marks whatever runs still as over.
function View:finish_all(outcome)
  for id, line in pairs(self.lines) do
    if line.running then self:finish(id, outcome) end
  end
end

--- Whether a tool printed anything.
---@return boolean
function View:has_output(id)
  local line = self.lines[id]
  return line ~= nil and (line.lines > 0 or line.partial ~= '')
end

--- While something runs, writes what comes and turns the spinners.
function View:set_busy(busy)
  self.busy, self.changed = busy, vim.uv.now()
  self:flush()
  -- A turn that goes on after a crash goes on below all of it.
  if not busy and self.below > 0 then
    self.below, self.tail = 0, 'paragraph'
  end
  self:redraw()
  if busy and not self.timer then
    local function tick()
      if not self.timer or not self:exists() then return end
      self:flush()
      self:spin()
      if self:state() ~= self.stated then self:redraw() end
    end
    self.timer = assert(vim.uv.new_timer())
    self.timer:start(TICK, TICK, vim.schedule_wrap(tick))
  elseif not busy and self.timer then
    self.timer:close()
    self.timer = nil
  end
end

return View

--- A change on the screen: removed lines coloured, added ones below them, in its file or on a page. Nothing is cut: what is
--- wider than the window goes on in a further row.
local config = require('aside.config')
local diff = require('aside.diff')
local log = require('aside.log')
local page = require('aside.page')
local rows = require('aside.rows')

local namespace = vim.api.nvim_create_namespace('aside.review')
local sight = vim.api.nvim_create_namespace('aside.sight')

--- What is drawn of a hunk.
---@class aside.Drawn
---@field row integer the first line in the buffer, from 0
---@field removed integer lines in the buffer
---@field added string[] rows of the screen
---@field header string[] the same of its label and keys
---@field mark integer
---@field keys boolean whether keys stand in its header
---@field since? integer when it came on the screen as a whole, in milliseconds
---@field read? boolean whether it was there long enough to be read
---@field seen table<integer, boolean> the rows of a hunk longer than the window that were on the screen

---@class aside.Shown
---@field buf integer
---@field hunks aside.Hunk[]
---@field label string
---@field origin? string what the label ends with
---@field inline boolean it is in the file's own buffer, and not on a page
---@field live boolean whether keys decide about it
---@field made boolean it was made already, and keys keep it or take it back
---@field inverted boolean its hunks take back what was made: what they would remove is what was added
---@field drawn aside.Drawn[]
---@field layout string what the rows were made for
local Shown = {
  --- Milliseconds for which a hunk has to be on the screen before a key decides about it.
  pause = 500,
  now = vim.uv.now,
}
Shown.__index = Shown

--- The rows of a page: the lines of a text, with the added ones after those that they replace.
---@param text string
---@param hunks aside.Hunk[]
---@param made boolean the hunks take back what was made
---@return string[] lines
---@return { row: integer, removed: integer, added: string[] }[] places of the hunks
local function lay_out(text, hunks, width, tabstop, made)
  local before, lines, places, first = diff.lines(text), {}, {}, 1
  local function add(from, sign)
    local texts = {}
    for _, line in ipairs(from) do
      line = text:find('\r\n', 1, true) and line:gsub('\r$', '') or line
      for part, row in ipairs(rows.of(line, width, tabstop, 'AsideAdd')) do
        lines[#lines + 1] = row.text
        texts[#texts + 1] = (part == 1 and sign or ' ') .. ' ' .. row.text
      end
    end
    return texts
  end
  for _, hunk in ipairs(hunks) do
    add(vim.list_slice(before, first, hunk.first - 1), ' ')
    local place = { row = #lines }
    place.removed = #add(made and hunk.added or hunk.removed, '-')
    place.added = add(made and hunk.removed or hunk.added, '+')
    places[#places + 1], first = place, hunk.first + #hunk.removed
  end
  add(vim.list_slice(before, first), ' ')
  return lines, places
end

--- Draws a change in a file's buffer, or on a page of it.
---@param places? { row: integer, removed: integer, added?: string[] }[] on a page, where each hunk is
---@param made? boolean the hunks take back what was made already
---@return aside.Shown
function Shown.new(buf, hunks, label, places, made)
  local fields = { buf = buf, hunks = hunks, label = label, inline = not places, live = made or false, drawn = {} }
  fields.made, fields.inverted = made or false, made and not places or false
  local self = setmetatable(fields, Shown)
  for at, hunk in ipairs(hunks) do
    local place = places and places[at] or { row = hunk.first - 1, removed = #hunk.removed }
    self.drawn[at] = { row = place.row, removed = place.removed, added = place.added or {}, header = {}, seen = {} }
  end
  self:draw()
  return self
end

--- Draws a change on a page of its own, where added lines are lines.
---@param id string of the page
---@param about { title: string, name: string, text: string, label: string, tabstop: integer, footer?: string, made?: boolean }
---@param hunks aside.Hunk[]
---@return aside.Shown
function Shown.on_page(id, about, hunks)
  local lines, places = lay_out(about.text, hunks, vim.o.columns - 7, about.tabstop, about.made or false)
  -- The virtual lines above each hunk take rows too, and each line has a sign.
  local options = { enter = true, height = vim.o.lines - 6, width = 70, above = 2 * #hunks, signs = 2 }
  options.footer = about.footer
  local buf = page.show(id, about.title, lines, options)
  local kind = vim.filetype.match({ filename = about.name, buf = buf })
  if kind then pcall(vim.treesitter.start, buf, vim.treesitter.language.get_lang(kind)) end
  return Shown.new(buf, hunks, about.label, places, about.made)
end

--- The window in which it is decided, else one that shows it.
---@return integer? win
function Shown:window()
  local win = vim.api.nvim_get_current_win()
  if vim.api.nvim_win_get_buf(win) == self.buf then return win end
  win = vim.fn.bufwinid(self.buf)
  return win > 0 and win or nil
end

--- Columns of the window, and those of them left of the text.
---@return integer columns
---@return integer gutter
function Shown:columns()
  local win = self:window()
  if not win then return vim.o.columns, 2 end
  return vim.api.nvim_win_get_width(win), math.max(vim.fn.getwininfo(win)[1].textoff, 2)
end

--- What the rows depend on.
function Shown:measure()
  local columns, gutter = self:columns()
  return ('%d %d %d %d %d'):format(columns, gutter, vim.bo[self.buf].tabstop, vim.o.columns, vim.o.lines)
end

--- The text above a hunk.
---@return string[] rows
---@return boolean keys whether those stand there that decide about what is shown
function Shown:header(at)
  local columns, gutter = self:columns()
  local take, keys = self.hunks[at].take, nil
  local text = ('%s · %d of %d'):format(self.label .. (self.origin or ''), at, #self.hunks)
  if take ~= nil then
    text = text .. (take and ' · taken' or ' · left out')
    local back = take and { 'reject', 'leave after all' } or { 'accept', 'show again' }
    keys = self.live and config.hint({ back, { 'next', 'next' } }) or nil
  elseif not self.live then
    text = text .. ' · :Aside answer'
  elseif self.made then
    keys = config.hint({
      { 'accept', 'keep' },
      { 'reject', 'take back' },
      { 'accept_all', 'keep all' },
      { 'reject_all', 'take all back' },
      { 'next', 'next' },
      { 'hide', 'done' },
    })
  else
    keys = config.hint({
      { 'accept', 'take' },
      { 'reject', 'leave' },
      { 'accept_all', 'all' },
      { 'accept_turn', 'turn' },
      { 'reject_all', 'refuse' },
      { 'edit', 'edit' },
      { 'next', 'next' },
    })
  end
  local all = rows.words(text, columns - gutter)
  vim.list_extend(all, keys and rows.hints(keys, columns - gutter) or {})
  return vim.tbl_map(function(row) return (' '):rep(gutter) .. row end, all), keys ~= nil and take ~= false
end

---@param options vim.api.keyset.set_extmark
function Shown:mark(row, options, column)
  return vim.api.nvim_buf_set_extmark(self.buf, namespace, row, column or 0, options)
end

--- Colours a line, and the parts of it that differ. A sign tells removed from added without a colour; until the person
--- turns to it, that of the prompt is above it.
function Shown:paint(row, sign, highlight, ranges)
  self:mark(row, { line_hl_group = highlight, priority = 150 })
  if sign then self:mark(row, { sign_text = sign, sign_hl_group = highlight, priority = self.live and 5000 or 150 }) end
  for _, range in ipairs(ranges) do
    -- The line of the buffer may be without what is at the end of that of the change, such as a carriage return.
    self:mark(row, { end_col = range[2], strict = false, hl_group = 'AsideWord', priority = 160 }, range[1])
  end
end

--- The added lines as virtual ones.
---@param hunk aside.Hunk
---@return [string, string|string[]][][] chunks
---@return string[] texts
function Shown:virtual(hunk)
  local columns, gutter = self:columns()
  local chunks, texts, alike = {}, {}, #hunk.removed == #hunk.added
  for number, line in ipairs(hunk.added) do
    line = vim.bo[self.buf].fileformat == 'dos' and line:gsub('\r$', '') or line
    local ranges = alike and diff.inside(line, hunk.removed[number]) or nil
    local sign, highlight = '+', 'AsideAdd'
    if self.inverted then
      sign, highlight = '-', 'AsideDelete'
    end
    for part, row in ipairs(rows.of(line, columns - gutter, vim.bo[self.buf].tabstop, highlight, ranges)) do
      local left = (part == 1 and sign or ' ') .. (' '):rep(gutter - 1)
      texts[#texts + 1] = left .. row.text
      table.insert(row.chunks, 1, { left, highlight })
      table.insert(row.chunks, { (' '):rep(columns - vim.fn.strdisplaywidth(texts[#texts])), highlight })
      chunks[#chunks + 1] = row.chunks
    end
  end
  return chunks, texts
end

--- Draws one hunk. Of one that was left out only the header is drawn.
---@param at integer
function Shown:draw_hunk(at)
  local hunk, drawn, below = self.hunks[at], self.drawn[at], {}
  drawn.header, drawn.keys = self:header(at)
  local above = vim.tbl_map(function(row) return { { row, 'AsideHeader' } } end, drawn.header)
  if hunk.take ~= false then
    local alike = self.inline and #hunk.removed == #hunk.added
    for number = 1, drawn.removed do
      local ranges = alike and diff.inside(hunk.removed[number], hunk.added[number]) or {}
      local inverted = self.inverted
      self:paint(drawn.row + number - 1, inverted and '+' or '-', inverted and 'AsideAdd' or 'AsideDelete', ranges)
    end
    if self.inline then
      below, drawn.added = self:virtual(hunk)
    else
      for number, text in ipairs(drawn.added) do
        self:paint(drawn.row + drawn.removed + number - 1, text:sub(1, 1) == '+' and '+' or nil, 'AsideAdd', {})
      end
    end
  end
  local lines = self.inline and drawn.removed or drawn.removed + #drawn.added
  -- One that is longer than the window has its label and its keys at its end, too.
  if not self.inline and self:is_long(at) then below = above end
  -- What was taken away stands above what is there in its place, as in every diff.
  if self.inverted then
    vim.list_extend(above, below)
  elseif lines > 0 then
    self:mark(drawn.row + lines - 1, { virt_lines = below, virt_lines_leftcol = true })
  else
    vim.list_extend(above, below)
  end
  local last = vim.api.nvim_buf_line_count(self.buf) - 1
  local options = { virt_lines = above, virt_lines_above = drawn.row <= last, virt_lines_leftcol = true }
  drawn.mark = self:mark(math.min(drawn.row, last), options)
end

--- Draws all of it anew. What was on the screen is so no more.
function Shown:draw()
  vim.api.nvim_buf_clear_namespace(self.buf, namespace, 0, -1)
  local layout = self:measure()
  for at, drawn in ipairs(self.drawn) do
    if layout ~= self.layout then
      drawn.seen, drawn.read = {}, nil
    end
    drawn.since = nil
    self:draw_hunk(at)
  end
  self.layout = layout
  self:draw_windows()
end

--- Has each window of the buffer drawn as a whole, as it is after an option of it was set: else Neovim leaves rows of
--- virtual lines that are gone below the last line.
function Shown:draw_windows()
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    vim.wo[win][0].list = vim.wo[win].list
  end
end

function Shown:erase()
  if not vim.api.nvim_buf_is_valid(self.buf) then return end
  vim.api.nvim_buf_clear_namespace(self.buf, namespace, 0, -1)
  self:draw_windows()
end

--- Whether no window as high as the one that shows it has room for a hunk.
function Shown:is_long(at)
  local win, drawn = self:window(), self.drawn[at]
  return win ~= nil and #drawn.header + drawn.removed + #drawn.added > vim.api.nvim_win_get_height(win)
end

---@return integer
function Shown:row(at) return vim.api.nvim_buf_get_extmark_by_id(self.buf, namespace, self.drawn[at].mark, {})[1] end

--- The last hunk that begins before the end of the cursor's line, or the first one.
function Shown:here()
  local row, found = vim.api.nvim_win_get_cursor(0)[1] - 1, 1
  for at in ipairs(self.hunks) do
    found = self:row(at) <= row and at or found
  end
  return found
end

--- Whether a line of the buffer is on the screen from its first character to its last one.
local function is_there(win, line, text)
  local first = vim.fn.screenpos(win, line, 1) ---@type table<string, integer>
  local last = vim.fn.screenpos(win, line, math.max(1, #text)) ---@type table<string, integer>
  return vim.fn.foldclosed(line) == -1 and first.row > 0 and last.row > 0 and last.curscol > 0
end

--- Notes which rows of a page are on the screen; gives back whether all of them were, once.
---@param win integer
---@param screen string[]
---@param at integer
---@param passing? boolean
---@return boolean
function Shown:read_on(win, screen, at, passing)
  local drawn, top = self.drawn[at], rows.corner(win)
  for number = 1, #drawn.added do
    local row = vim.fn.screenpos(win, drawn.row + drawn.removed + number, 1).row
    local there = row > 0 and rows.find(screen, { drawn.added[number] }, row - top + 1, row - top + 1) ~= nil
    drawn.seen[number] = drawn.seen[number] or there and not passing or nil
  end
  return vim.tbl_count(drawn.seen) == #drawn.added
end

--- The rule: keys decide about a hunk while its label, its keys, each line that it removes, and each row that it adds are
--- on the screen, as the screen itself says. Where it is longer than the window, each of these has been there, and the
--- label and the keys are.
---@param win integer
---@param screen string[]
---@param at integer
---@param passing? boolean
---@return boolean
function Shown:in_sight(win, screen, at, passing)
  local drawn = self.drawn[at]
  local header = rows.find(screen, drawn.header, 1)
  local following = self.drawn[at + 1] and header and rows.find(screen, self.drawn[at + 1].header, header + 1)
  local long = not self.inline and self:is_long(at)
  if long then return self:read_on(win, screen, at, passing) and header ~= nil and drawn.keys end
  if not header or not drawn.keys then return false end
  local from, to = header + #drawn.header, following and following - 1 or nil
  if not rows.find(screen, drawn.added, from, to) then return false end
  local lines = vim.api.nvim_buf_get_lines(self.buf, drawn.row, drawn.row + drawn.removed, false)
  for number, text in ipairs(lines) do
    if not is_there(win, drawn.row + number, text) then return false end
  end
  return true
end

--- Looks at the screen: which hunks are on it, and since when.
---@param passing? boolean whether it is scrolled on at once
function Shown:look(passing)
  local win, now = vim.api.nvim_get_current_win(), Shown.now()
  local mine = vim.api.nvim_win_get_buf(win) == self.buf and self.layout == self:measure()
  local screen = mine and rows.on_screen(win) or {}
  for at, drawn in ipairs(self.drawn) do
    local there = mine and self:in_sight(win, screen, at, passing)
    if drawn.since and now - drawn.since >= Shown.pause then drawn.read = true end
    drawn.since = there and (drawn.since or now) or nil
  end
end

--- Whether a hunk is on the screen, and was so long enough to be read, also before something covered it for a moment.
function Shown:may_decide(at)
  local drawn = self.drawn[at]
  return drawn.since ~= nil and (drawn.read or Shown.now() - drawn.since >= Shown.pause)
end

--- The hunk that has to be read before keys decide about that of the cursor, or about all; nil where all is.
---@param all? boolean
---@return integer?
function Shown:unread(all)
  if not all then
    local here = self:here()
    return not self:may_decide(here) and here or nil
  end
  local open = {}
  for at, hunk in ipairs(self.hunks) do
    if hunk.take == nil and not self.drawn[at].read then return at end
    open[#open + 1] = hunk.take == nil and at or nil
  end
  return not vim.iter(open):any(function(at) return self:may_decide(at) end) and open[1] or nil
end

--- Whether keys decide now about the hunk of the cursor, or about all. What is not on the screen comes there.
---@param all? boolean
---@param go fun(at: integer) brings a hunk on the screen
function Shown:lets_decide(all, go)
  vim.cmd.redraw()
  self:look()
  local unread = self:unread(all)
  if not unread then return true end
  if self.drawn[unread].since then
    log.say('this has only just come on the screen; read it, then decide', 'WarningMsg')
    return false
  end
  if not self.inline and self:is_long(unread) then
    local rest = self:read_further(unread)
    local more = '%d lines of this were not seen yet; scroll to its end'
    log.say(rest > 0 and more:format(rest) or 'all of this was on the screen; decide now', 'WarningMsg')
    return false
  end
  local left = self.hunks[unread].take == false
  self.hunks[unread].take = nil
  self:draw()
  go(unread)
  if not left then log.say('not all of this was on the screen; read it, then decide', 'WarningMsg') end
  return false
end

local watched = {} ---@type table<aside.Shown, fun()>

local look_at_all = vim.schedule_wrap(function()
  for _, shown in ipairs(vim.tbl_keys(watched)) do
    local misfits = watched[shown]
    if misfits and (not shown:window() or shown.layout == shown:measure()) then
      shown:look()
    elseif misfits then
      misfits()
    end
  end
end)

--- Has keys decide about it: the screen is looked at whenever it was drawn, until that is released.
---@param misfits fun() called where what was drawn does not fit the window any more
---@return fun() release
function Shown:watch(misfits)
  watched[self], self.live = misfits, true
  vim.api.nvim_set_decoration_provider(sight, { on_end = look_at_all })
  return function()
    watched[self], self.live = nil, false
    if not next(watched) then vim.api.nvim_set_decoration_provider(sight, {}) end
  end
end

--- Scrolls to the first row of a long hunk that was not on the screen yet, or to its end; gives back how many were not.
---@param at integer
---@return integer
function Shown:read_further(at)
  local drawn, unread = self.drawn[at], {} ---@type aside.Drawn, integer[]
  for number in ipairs(drawn.added) do
    unread[#unread + 1] = not drawn.seen[number] and number or nil
  end
  local line = drawn.row + drawn.removed + (unread[1] or #drawn.added)
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  -- Where nothing is left, its end with the label and the keys below.
  local above = unread[1] and 0 or vim.api.nvim_win_get_height(0) - #drawn.header - 1
  vim.fn.winrestview({ topline = math.max(1, line - above), topfill = 0 })
  return #unread
end

--- Brings a hunk on the screen, in the middle if it can be seen there, else where nothing covers it, such as a message of
--- another plugin; gives back whether all of it is there.
---@param at integer
---@return boolean
function Shown:go(at)
  local drawn = self.drawn[at]
  local win, row = vim.api.nvim_get_current_win(), self:row(at) + 1
  local count = vim.api.nvim_buf_line_count(self.buf)
  vim.api.nvim_win_set_cursor(win, { row, 0 })
  vim.cmd(('silent! %d,%dfoldopen!'):format(math.max(1, row - 1), math.min(count, row + drawn.removed)))
  -- Virtual lines above the first line of a window show only as far as it is told of them, exactly.
  ---@param line integer
  local function first(line)
    local fill = vim.api.nvim_win_text_height(win, { start_row = line - 1, end_row = line - 1 }).fill
    vim.fn.winrestview({ topline = line, topfill = fill, leftcol = 0, skipcol = 0 })
  end
  local function middle()
    vim.cmd('normal! zz')
    local height = vim.api.nvim_win_get_height(win)
    local fits = count <= height and vim.api.nvim_win_text_height(win, {}).all <= height
    if fits or vim.fn.line('w0') == 1 then first(1) end
  end
  --- With so much of the room above it.
  ---@param part number
  local function below(part)
    return function()
      first(row)
      local room = vim.api.nvim_win_get_height(win) - #drawn.header - drawn.removed - #drawn.added
      local up = math.floor(room * part)
      if up > 0 then vim.cmd(('normal! %d\25'):format(up)) end
    end
  end
  for _, scroll in ipairs({ middle, below(0), below(1), below(0.25), below(0.75) }) do
    scroll()
    vim.cmd.redraw()
    self:look(true)
    if drawn.since or self.hunks[at].take ~= nil then return true end
  end
  return false
end

return Shown

--- A change that waits for approval, shown where it would be made: removed lines coloured, added ones below them. It is
--- decided by hunks or as a whole, when the person turned to it.
local client = require('aside.client')
local config = require('aside.config')
local diff = require('aside.diff')
local page = require('aside.page')

local M = {}

local namespace = vim.api.nvim_create_namespace('aside.review')

---@class aside.Review
---@field prompt aside.Prompt
---@field hunks aside.Hunk[]
---@field buf? integer where it is shown
---@field inline boolean it is shown in the file's own buffer, and not on a page
---@field marks integer[] of each hunk
---@field release? fun() takes the keys away
---@field answers? fun() shows the answers again that stood in its way
---@field done? aside.Done
local Review = {}
Review.__index = Review

local reviews = {} ---@type table<string, aside.Review> by prompt

---@return aside.Hunk[] none where the prompt is about something else
local function hunks_of(prompt)
  local preview = prompt.preview
  return preview and preview.kind == 'diff' and diff.hunks(preview.old, preview.new) or {}
end

--- The buffer of the file, where it has the text that the change is for.
---@return integer? buf
---@return boolean stale it is open, and has another text
local function buffer(preview)
  local buf = client.buffer(preview.uri)
  if not buf then return nil, false end
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\n')
    .. (vim.bo[buf].endofline and '\n' or '')
  local same = text == preview.old:gsub('\r\n', '\n')
  return same and buf or nil, not same
end

--- The place of a prompt's sign: the first change of its file, if the file is open.
---@return integer? buf
---@return integer? row
function M.place(prompt)
  local first = hunks_of(prompt)[1]
  if first then return buffer(prompt.preview), first.first - 1 end
end

--- The virtual lines above a hunk.
function Review:header(at)
  local take, keys = self.hunks[at].take, nil
  local text = ('%s · %d of %d'):format(self.prompt.label, at, #self.hunks)
  if take ~= nil then
    text = text .. (take and ' · taken' or ' · left out')
  elseif not self.release then
    text = text .. ' · :Aside answer'
  else
    keys = config.hint({
      { 'accept', 'take' },
      { 'reject', 'leave' },
      { 'accept_all', 'all' },
      { 'accept_turn', 'whole turn' },
      { 'reject_all', 'refuse' },
      { 'next', 'next' },
    })
  end
  local gutter = self.inline and self:gutter('') or ''
  return { { { gutter .. text, 'AsideHeader' } }, keys and { { gutter .. keys, 'AsideHeader' } } }
end

--- Blanks left of a virtual line, as wide as the columns left of the text.
function Review:gutter(text)
  local win = vim.fn.bufwinid(self.buf)
  local width = win > 0 and vim.fn.getwininfo(win)[1].textoff or 0
  return text .. (' '):rep(math.max(width, 2) - #text)
end

--- A line as a virtual one, coloured to its end: the parts that differ are in the second highlight.
function Review:chunks(line, ranges)
  local all, at = { { self:gutter('+'), 'AsideAdd' } }, 0
  for _, range in ipairs(ranges) do
    all[#all + 1] = { line:sub(at + 1, range[1]), 'AsideAdd' }
    all[#all + 1] = { line:sub(range[1] + 1, range[2]), { 'AsideAdd', 'AsideWord' } }
    at = range[2]
  end
  local rest = (' '):rep(math.max(0, vim.o.columns - vim.fn.strdisplaywidth(line)))
  all[#all + 1] = { line:sub(at + 1) .. rest, 'AsideAdd' }
  return all
end

---@param options vim.api.keyset.set_extmark
function Review:mark(row, options, column)
  return vim.api.nvim_buf_set_extmark(self.buf, namespace, row, column or 0, options)
end

--- Colours a line, and the parts of it that differ. A sign tells removed from added without a colour; until the person
--- turns to it, that of the prompt is above it.
function Review:paint(row, sign, highlight, ranges)
  self:mark(row, { line_hl_group = highlight, priority = 150 })
  self:mark(row, { sign_text = sign, sign_hl_group = highlight, priority = self.release and 5000 or 150 })
  for _, range in ipairs(ranges) do
    self:mark(row, { end_col = range[2], hl_group = 'AsideWord', priority = 160 }, range[1])
  end
end

--- Draws one hunk of which the first line is at this row. Of one that was left out only the header is drawn.
---@param at integer
---@param row integer
function Review:draw_hunk(at, row)
  local removed, added, above, below = self.hunks[at].removed, self.hunks[at].added, self:header(at), {}
  local alike = #removed == #added
  if self.hunks[at].take ~= false then
    for number, line in ipairs(removed) do
      self:paint(row + number - 1, '-', 'AsideDelete', alike and diff.inside(line, added[number]) or {})
    end
    for number, line in ipairs(added) do
      local ranges = alike and diff.inside(line, removed[number]) or {}
      if self.inline then
        below[number] = self:chunks(line, ranges)
      else
        self:paint(row + #removed + number - 1, '+', 'AsideAdd', ranges)
      end
    end
  end
  if #removed > 0 then
    self:mark(row + #removed - 1, { virt_lines = below, virt_lines_leftcol = true })
  else
    vim.list_extend(above, below)
  end
  local last = vim.api.nvim_buf_line_count(self.buf) - 1
  local options = { virt_lines = above, virt_lines_above = row <= last, virt_lines_leftcol = self.inline }
  self.marks[at] = self:mark(math.min(row, last), options)
end

function Review:draw()
  vim.api.nvim_buf_clear_namespace(self.buf, namespace, 0, -1)
  local shift = 0
  for at, hunk in ipairs(self.hunks) do
    self:draw_hunk(at, hunk.first - 1 + shift)
    -- On a page the added lines are lines.
    shift = shift + (self.inline and 0 or #hunk.added)
  end
end

function Review:erase()
  if self.release then self.release() end
  if self.answers then self.answers() end
  if self.buf and vim.api.nvim_buf_is_valid(self.buf) then
    vim.api.nvim_buf_clear_namespace(self.buf, namespace, 0, -1)
  end
  self.buf, self.answers = nil, nil
end

--- Draws it in its file, if that is open with the text that it is for, has no other change drawn in it, and virtual
--- lines can show it: those of one hunk have to fit beside the line that they hang on. It is dropped when the text changes.
---@return boolean
function Review:draw_inline()
  local buf = buffer(self.prompt.preview)
  if not buf then return false end
  local win = vim.fn.bufwinid(buf)
  local room = math.floor((win > 0 and vim.api.nvim_win_get_height(win) or vim.o.lines) / 2)
  local long = vim.iter(self.hunks):any(function(hunk) return #hunk.added > room end)
  local taken = vim.iter(reviews):any(function(_, other) return other ~= self and other.buf == buf end)
  if long or taken then return false end
  if self.buf ~= buf then
    self:erase()
    self.buf, self.inline = buf, true
    local check = vim.schedule_wrap(function()
      if self.buf == buf and buffer(self.prompt.preview) ~= buf then self:erase() end
    end)
    vim.api.nvim_buf_attach(buf, false, { on_lines = function() return check() or true end, on_reload = check })
  end
  self:draw()
  return true
end

--- Shows a change where it would be made, without anything that takes a key.
function M.offer(prompt)
  if prompt.resumable or not prompt.preview or prompt.preview.kind ~= 'diff' then return end
  local review = setmetatable({ prompt = prompt, hunks = hunks_of(prompt), marks = {}, inline = true }, Review)
  reviews[prompt.promptId] = review
  M.list(require('aside.prompt').open(), true)
  review:draw_inline()
end

--- Takes it off the screen for good.
function M.drop(id)
  local review = reviews[id]
  if not review then return end
  reviews[id] = nil
  review:erase()
  M.list(require('aside.prompt').open(), true)
end

--- Puts all changes that wait into the quickfix list.
---@param prompts aside.Prompt[]
---@param careful? boolean only into an empty list, or Aside's own
function M.list(prompts, careful)
  local items = {}
  for _, prompt in ipairs(prompts) do
    for _, hunk in ipairs(hunks_of(prompt)) do
      local text = ('%s: -%d +%d'):format(prompt.label, #hunk.removed, #hunk.added)
      items[#items + 1] = { filename = vim.uri_to_fname(prompt.preview.uri), lnum = hunk.first, text = text }
    end
  end
  local now = vim.fn.getqflist({ context = 0, size = 0 })
  local ours = type(now.context) == 'table' and now.context.aside
  if ours or #items > 0 and (not careful or now.size == 0) then
    vim.fn.setqflist({}, ours and 'r' or ' ', { title = 'Aside', context = { aside = true }, items = items })
  end
end

--- Gives the decision to the server.
---@param text? string the new text, where it is not the one that was proposed
function Review:settle(answer, text)
  local decision = { action = 'answer', answer = answer, newText = text }
  require('aside.prompt').settle(self.prompt, decision, self.done)
end

--- Sends what was decided, when all of it is.
---@return boolean
function Review:conclude()
  local decided = vim.tbl_filter(function(hunk) return hunk.take ~= nil end, self.hunks)
  local taken = vim.tbl_filter(function(hunk) return hunk.take == true end, decided)
  if #decided < #self.hunks then return false end
  local preview = self.prompt.preview
  local part = #taken < #decided and diff.compose(preview.old, preview.new, decided) or nil
  self:settle(#taken > 0 and 'once' or 'no', #taken > 0 and part or nil)
  return true
end

function Review:row(at) return vim.api.nvim_buf_get_extmark_by_id(self.buf, namespace, self.marks[at], {})[1] end

--- The last hunk that begins before the end of the cursor's line, or the first one.
function Review:hunk_here()
  local row, found = vim.api.nvim_win_get_cursor(0)[1] - 1, 1
  for at in ipairs(self.hunks) do
    found = self:row(at) <= row and at or found
  end
  return found
end

--- Goes to a hunk.
function Review:go(at)
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { self:row(math.min(math.max(at, 1), #self.hunks)) + 1, 0 })
  -- Virtual lines above the first line show only after scrolling. Those that fit are shown whole.
  vim.cmd('normal! zz')
  local fits = vim.api.nvim_win_text_height(0, {}).all <= vim.api.nvim_win_get_height(0)
  if fits or vim.fn.line('w0') == 1 then vim.fn.winrestview({ topline = 1, topfill = 9 }) end
end

function Review:decide(take)
  local here, count = self:hunk_here(), #self.hunks
  self.hunks[here].take = take
  if self:conclude() then return end
  self:draw()
  for number = 0, count - 1 do
    local at = (here + number) % count + 1
    if self.hunks[at].take == nil then return self:go(at) end
  end
end

--- The action of each key.
---@type table<string, fun(review: aside.Review)>
local acts = {
  accept = function(review) review:decide(true) end,
  reject = function(review) review:decide(false) end,
  accept_all = function(review)
    vim.iter(review.hunks):each(function(hunk) hunk.take = hunk.take ~= false end)
    review:conclude()
  end,
  accept_turn = function(review) review:settle('turn') end,
  reject_all = function(review) require('aside.prompt').decline(review.prompt, review.done) end,
  next = function(review) review:go(review:hunk_here() + 1) end,
  previous = function(review) review:go(review:hunk_here() - 1) end,
}

--- Sets the keys, and takes them away again: a map that the buffer had comes back.
function Review:set_keys()
  local buf, before = self.buf, {} ---@cast buf integer
  for name, act in pairs(acts) do
    local key = config.get().keys[name]
    if key then
      before[key] = vim.api.nvim_buf_call(buf, function() return vim.fn.maparg(key, 'n', false, true) end)
      config.map(name, buf, function() act(self) end)
    end
  end
  local function typed()
    self.release()
    self:draw()
  end
  -- A person who types in the file has turned away from the change.
  local away = vim.api.nvim_create_autocmd('InsertEnter', { buffer = buf, callback = typed })
  self.release = function()
    self.release = nil
    pcall(vim.api.nvim_del_autocmd, away)
    if not vim.api.nvim_buf_is_valid(buf) then return end
    vim.api.nvim_buf_call(buf, function()
      for key, map in pairs(before) do
        pcall(vim.keymap.del, 'n', key, { buffer = buf })
        if map.buffer == 1 then vim.fn.mapset('n', false, map) end
      end
    end)
  end
end

--- A page of its own, where added lines are lines: for a file that is not open, and for what virtual lines cannot show.
function Review:on_page(stale)
  local prompt = self.prompt
  local function both(hunk) return vim.list_extend(vim.list_slice(hunk.removed), hunk.added) end
  local lines = diff.weave(prompt.preview.old, self.hunks, both)
  lines = vim.tbl_map(function(line) return (line:gsub('\r$', '')) end, lines)
  local name = vim.fn.fnamemodify(vim.uri_to_fname(prompt.preview.uri), ':~:.')
  local footer = stale and 'the text changed since: taking it lets the model read it again' or nil
  self:erase()
  -- The virtual lines above each hunk take rows too, and each line has a sign.
  local options = { enter = true, height = vim.o.lines - 6, width = 70, above = 2 * #self.hunks, signs = 2 }
  options.footer = footer
  local title = ('%s · %d of %d'):format(name, prompt.position.n, prompt.position.of)
  local buf = page.show(prompt.promptId, title, lines, options)
  local kind = vim.filetype.match({ filename = name, buf = buf })
  if kind then pcall(vim.treesitter.start, buf, vim.treesitter.language.get_lang(kind)) end
  self.buf, self.inline = buf, false
  local wiped = vim.schedule_wrap(function()
    if self.buf == buf then self:erase() end
  end)
  vim.api.nvim_create_autocmd('BufWipeout', { buffer = buf, once = true, callback = wiped })
end

--- The person turns to it.
---@param prompt aside.Prompt
---@param done aside.Done
function M.start(prompt, done)
  local review = reviews[prompt.promptId]
  review.done = done
  if #review.hunks == 0 then return review:settle('once') end
  vim.iter(review.hunks):each(function(hunk) hunk.take = nil end)
  local _, stale = buffer(prompt.preview)
  if review:draw_inline() then
    -- In a window that shows it, else in this one.
    local win = vim.fn.bufwinid(review.buf)
    if win > 0 then vim.api.nvim_set_current_win(win) end
    vim.api.nvim_set_current_buf(review.buf --[[@as integer]])
  else
    review:on_page(stale)
  end
  review.answers = review.answers or require('aside.view').clear()
  if not review.release then review:set_keys() end
  review:draw()
  review:go(1)
end

return M

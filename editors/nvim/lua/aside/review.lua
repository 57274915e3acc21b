--- A change that waits for approval, shown where it would be made. It is decided by hunks or as a whole, when the person
--- turned to it; and nothing is taken that the person has not seen.
local Shown = require('aside.shown')
local client = require('aside.client')
local diff = require('aside.diff')
local keys = require('aside.keys')
local log = require('aside.log')
local page = require('aside.page')

local M = {
  reviews = {}, ---@type table<string, aside.Review> by prompt
}

---@class aside.Review
---@field prompt aside.Prompt
---@field base string the text that the hunks are for
---@field offered string the text that the server showed them for
---@field ours string the text that the file has, if none but Aside changed it
---@field hunks aside.Hunk[]
---@field shown? aside.Shown where it is
---@field release? fun() takes the keys away
---@field origin? string the conversation, where it may be taken for another one
---@field answers? fun() shows the answers again that stood in its way
---@field edited? boolean the person wrote another text in place of the one that was proposed
---@field done? aside.Done
local Review = {}
Review.__index = Review

local CHANGED = 'the text changed since: taking it changes nothing, and the model reads the text again'
local MOVED = 'other lines changed since: take or refuse it as a whole'

---@return aside.Hunk[] none where the prompt is about something else
local function hunks_of(prompt)
  local preview = prompt.preview
  return preview and preview.kind == 'diff' and diff.hunks(preview.old, preview.new) or {}
end

--- What stands above its parts: the tool, and what the server warns of, which its question has in brackets.
---@param prompt aside.Prompt
---@return string
local function label_of(prompt)
  local warning = prompt.text:match('%b()')
  return prompt.label .. (warning and ' ' .. warning or '')
end

--- The text of a buffer, with line breaks as a proposal has them.
local function text_of(buf, preview)
  local ends = vim.bo[buf].endofline and '\n' or ''
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\n') .. ends
  return preview.old:find('\r\n', 1, true) and text:gsub('\n', '\r\n') or text
end

--- What a change is now: its hunks are moved along where other lines of the file were changed since.
---@return string base the text that they are for
---@return aside.Hunk[] hunks
---@return integer? buf of the file, where it can be shown there
---@return boolean stale the same lines were changed since
local function proposal(prompt)
  local preview = prompt.preview
  local buf, hunks = client.buffer(preview.uri), hunks_of(prompt)
  if not buf then return preview.old, hunks, nil, false end
  local now = text_of(buf, preview)
  -- A file that does not end in a line break may be shown as one that does.
  if now == preview.old then return now, hunks, buf, false end
  local moved = diff.move(preview.old, now, hunks)
  if moved then return now, moved, buf, false end
  return preview.old, hunks, nil, true
end

--- The place of a prompt's sign: the first change of its file, if the file is open.
---@return integer? buf
---@return integer? row
function M.place(prompt)
  if not M.is_change(prompt) then return end
  local _, hunks, buf = proposal(prompt)
  return buf, hunks[1].first - 1
end

function Review:erase()
  if self.release then self.release() end
  if self.answers then self.answers() end
  if self.shown then self.shown:erase() end
  self.shown, self.answers = nil, nil
end

--- Goes on with the same hunks in a text that was changed elsewhere: what was decided of them stays.
---@param base string
---@param hunks aside.Hunk[]
function Review:take_up(base, hunks)
  if base == self.base then return end
  for at, hunk in ipairs(hunks) do
    hunk.take = (self.hunks[at] or {}).take
  end
  self.base, self.hunks = base, hunks
end

--- Draws it in its file, if that is open and has no other change drawn in it.
---@return boolean
function Review:draw_inline()
  local base, hunks, buf = proposal(self.prompt)
  local shown = self.shown
  if shown and shown.inline and shown.buf == buf and base == self.base then return true end
  local function is_there(_, other)
    return other ~= self and not other.prompt.settling and other.shown and other.shown.buf == buf
  end
  if not buf or vim.iter(M.reviews):any(is_there) then return false end
  -- What is decided already makes room.
  vim.iter(vim.tbl_values(M.reviews)):each(function(other)
    if other.prompt.settling then other:erase() end
  end)
  self:erase()
  page.close(self.prompt.promptId)
  self:take_up(base, hunks)
  -- A replacement of one text is the same wherever that is; any other change is of the text that the model knows.
  local moved = base ~= self.ours and (self.prompt.tool.name == 'edit_file' and MOVED or CHANGED)
  shown = Shown.new(buf, self.hunks, label_of(self.prompt) .. (moved and ' · ' .. moved or ''))
  self.shown = shown
  local check = vim.schedule_wrap(function()
    if self.shown == shown and text_of(buf, self.prompt.preview) ~= base then self:follow() end
  end)
  local function is_gone() return self.shown ~= shown end
  vim.api.nvim_buf_attach(buf, false, { on_lines = function() return check() or is_gone() end, on_reload = check })
  return true
end

--- Draws it anew after the text was changed: while the person types, it is only taken off the screen.
function Review:follow()
  local live, shown = self.release ~= nil, self.shown
  local at = live and vim.api.nvim_get_current_buf() == shown.buf and shown:here() or nil
  self:erase()
  if vim.startswith(vim.api.nvim_get_mode().mode, 'i') or not self:draw_inline() then return end
  if at then self:turn_to(math.min(at, #self.hunks)) end
end

--- Shows a change where it would be made, without anything that takes a key.
function M.offer(prompt)
  if prompt.resumable or not prompt.preview or prompt.preview.kind ~= 'diff' then return end
  local review = setmetatable({ prompt = prompt, hunks = hunks_of(prompt) }, Review)
  review.base, review.ours, review.offered = prompt.preview.old, prompt.preview.old, prompt.preview.old
  M.reviews[prompt.promptId] = review
  M.list(require('aside.prompt').open(), true)
  review:draw_inline()
end

--- Makes an edit of Aside's own in a file, which the changes of it that wait follow.
---@param edit fun()
function M.around(buf, edit)
  local before = {}
  for id, review in pairs(M.reviews) do
    local preview = review.prompt.preview
    before[id] = client.buffer(preview.uri) == buf and text_of(buf, preview) or nil
  end
  edit()
  for id, text in pairs(before) do
    local review = M.reviews[id]
    if review.ours == text then review.ours = text_of(buf, review.prompt.preview) end
  end
end

--- Takes it off the screen for good.
function M.drop(id)
  local review = M.reviews[id]
  if not review then return end
  M.reviews[id] = nil
  review:erase()
  -- Another change of the file may have waited for its place.
  vim.iter(vim.tbl_values(M.reviews)):each(function(other)
    if not other.shown then other:draw_inline() end
  end)
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
  local now = vim.fn.getqflist({ context = 0, size = 0, nr = 0 })
  local ours = type(now.context) == 'table' and now.context.aside
  if ours or #items > 0 and (not careful or now.size == 0) then
    vim.fn.setqflist({}, ours and 'r' or ' ', { title = 'Aside', context = { aside = true }, items = items })
  end
  -- The list that was there before is given back.
  if ours and #items == 0 and now.nr > 1 then vim.cmd('silent colder') end
end

--- Gives the decision to the server. No key decides about it any more.
---@param text? string the new text, where it is not the one that was proposed
function Review:settle(answer, text)
  if self.release then self.release() end
  local base = text and self.base ~= self.offered and self.base or nil
  local decision = { action = 'answer', answer = answer, newText = text, oldText = base }
  if answer ~= 'no' then require('aside.changes').approve(self.prompt) end
  require('aside.prompt').settle(self.prompt, decision, self.done)
end

--- Sends what was decided, when all of it is.
---@return boolean
function Review:conclude()
  local decided = vim.tbl_filter(function(hunk) return hunk.take ~= nil end, self.hunks)
  local taken = vim.tbl_filter(function(hunk) return hunk.take == true end, decided)
  if #decided < #self.hunks then return false end
  local preview = self.prompt.preview
  local part = (self.edited or #taken < #decided) and diff.compose(self.base, preview.new, decided) or nil
  self:settle(#taken > 0 and 'once' or 'no', #taken > 0 and part or nil)
  return true
end

--- Takes answers off the screen that lie over the code, also those that came while the person decides.
function Review:clear()
  local before, again = self.answers, require('aside.pane').clear()
  self.answers = function()
    if before then before() end
    again()
  end
end

--- Goes to a hunk. One that cannot be on the screen as a whole in its file is shown on a page.
function Review:go(at)
  vim.cmd("normal! m'")
  self:clear()
  at = math.min(math.max(at, 1), #self.hunks)
  local view = vim.fn.winsaveview()
  if self.shown:go(at) or not self.shown.inline then return end
  vim.fn.winrestview(view)
  self:on_page()
  self:turn_to(at)
end

--- Whether the person may decide now. What is not on the screen comes there.
---@param all? boolean
function Review:may_decide(all)
  return self.shown:lets_decide(all, function(at) self:go(at) end)
end

--- The next hunk that is not decided, from one on.
---@param from integer
---@return integer?
function Review:undecided(from)
  for number = 0, #self.hunks - 1 do
    local at = (from - 1 + number) % #self.hunks + 1
    if self.hunks[at].take == nil then return at end
  end
end

function Review:decide(take)
  if not self:may_decide() then return end
  local here, count = self.shown:here(), #self.hunks
  self.hunks[here].take = take
  if self:conclude() then return end
  self.shown:draw()
  self:go(assert(self:undecided(here % count + 1)))
end

--- The action of each key.
---@type table<string, fun(review: aside.Review)>
local acts = {
  accept = function(review) review:decide(true) end,
  reject = function(review) review:decide(false) end,
  accept_all = function(review)
    if not review:may_decide(true) then return end
    vim.iter(review.hunks):each(function(hunk) hunk.take = hunk.take ~= false end)
    review:conclude()
  end,
  accept_turn = function(review)
    if review.edited then return log.say('you edited this change, so it is taken alone', 'WarningMsg') end
    if review:may_decide(true) then review:settle('turn') end
  end,
  reject_all = function(review)
    if review:may_decide() then require('aside.prompt').decline(review.prompt, review.done) end
  end,
  edit = function(review) review:edit() end,
  next = function(review) review:go(review.shown:here() + 1) end,
  previous = function(review) review:go(review.shown:here() - 1) end,
}

--- Sets the keys.
function Review:set_keys()
  local shown = self.shown ---@cast shown aside.Shown
  local mine = vim.tbl_map(function(act)
    return function() act(self) end
  end, acts)
  local release = keys.hold(shown.buf, mine, function()
    self.release()
    shown:draw()
  end)
  local unwatch = shown:watch(function()
    if shown.inline then return shown:draw() end
    local here = shown:here()
    self:on_page()
    self:turn_to(here)
  end)
  self.release = function()
    self.release = nil
    unwatch()
    release()
  end
end

--- A page of its own, where added lines are lines: for a file that is not open, and for what virtual lines cannot show.
function Review:on_page()
  local prompt, answers = self.prompt, self.answers
  local preview = prompt.preview
  local base, hunks, _, stale = proposal(prompt)
  self:take_up(base, hunks)
  local name = vim.fn.fnamemodify(vim.uri_to_fname(preview.uri), ':~:.')
  self.answers = nil
  self:erase()
  self.answers = answers
  local shown = Shown.on_page(prompt.promptId, {
    title = ('%s · %d of %d'):format(name, prompt.position.n, prompt.position.of),
    name = name,
    text = base,
    label = label_of(prompt),
    tabstop = vim.bo[client.buffer(preview.uri) or 0].tabstop,
    footer = (stale or base ~= self.ours) and CHANGED or nil,
  }, self.hunks)
  self.shown = shown
  local wiped = vim.schedule_wrap(function()
    if self.shown == shown then self:erase() end
  end)
  vim.api.nvim_create_autocmd('BufWipeout', { buffer = shown.buf, once = true, callback = wiped })
end

--- Lets the person decide, who looks at it.
function Review:turn_to(at)
  if not self.release then self:set_keys() end
  self.shown.origin = self.origin
  self.shown:draw()
  self:go(at)
end

--- Lets the person change what is proposed, beside the file as it is, in a tab page of its own. What is written there is
--- decided about as the proposal was.
function Review:edit()
  local preview, before = self.prompt.preview, vim.api.nvim_get_current_tabpage()
  local all = vim.tbl_map(function(hunk) return vim.tbl_extend('force', hunk, { take = true }) end, self.hunks)
  local base, name = self.base, vim.fn.fnamemodify(vim.uri_to_fname(preview.uri), ':~:.')
  local dos = preview.old:find('\r\n', 1, true) ~= nil
  local here = self.shown:here()
  local line = self.hunks[here].first -- in the proposal
  for at = 1, here - 1 do
    line = line + #self.hunks[at].added - #self.hunks[at].removed
  end
  ---@param text string
  local function fill(text, title)
    local buf = vim.api.nvim_get_current_buf()
    -- Before it has a name: it is no file of any folder.
    vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = 'nofile', 'wipe', false
    vim.api.nvim_buf_set_name(buf, ('aside://%s/%s'):format(title, name))
    vim.api.nvim_buf_set_lines(buf, 0, -1, true, (diff.lines((text:gsub('\r\n', '\n')))))
    vim.bo[buf].filetype = vim.filetype.match({ filename = name, buf = buf }) or ''
    vim.bo[buf].modified = false
    vim.cmd.diffthis()
    return buf
  end
  vim.cmd.tabnew()
  fill(base, 'now')
  vim.bo.modifiable = false
  vim.cmd('rightbelow vertical new')
  local buf = fill(diff.compose(base, preview.new, all), 'proposal')
  vim.bo[buf].buftype = 'acwrite'
  vim.cmd(('silent! normal! %dGzvzz'):format(line))
  log.say('edit the right side; :w proposes it, :q! leaves it')
  local tab, over = vim.api.nvim_get_current_tabpage(), false
  --- Goes back to where the person was, with the change on the screen.
  ---@param text? string what it is to be from now on
  local function back(text)
    over = true
    if vim.api.nvim_tabpage_is_valid(before) then vim.api.nvim_set_current_tabpage(before) end
    if tab ~= before and vim.api.nvim_tabpage_is_valid(tab) then
      vim.cmd.tabclose({ args = { tostring(vim.api.nvim_tabpage_get_number(tab)) }, bang = true })
    end
    if M.reviews[self.prompt.promptId] ~= self then return end
    if text then
      preview.old, preview.new, self.edited = base, text, true
      self:erase()
      self.base, self.hunks = base, hunks_of(self.prompt)
    end
    M.start(self.prompt, self.done)
  end
  local function written()
    local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\n')
    text = (text ~= '' and (base == '' or vim.endswith(base, '\n'))) and text .. '\n' or text
    text = dos and text:gsub('\n', '\r\n') or text
    vim.bo[buf].modified = false
    if text == base then return log.say('nothing is left of the change; leave it out instead', 'WarningMsg') end
    if M.reviews[self.prompt.promptId] ~= self then return log.say('this waits no more', 'WarningMsg') end
    back(text)
  end
  local function left()
    if not over and vim.v.exiting == vim.NIL then back() end
  end
  vim.api.nvim_create_autocmd('BufWipeout', { buffer = buf, once = true, callback = vim.schedule_wrap(left) })
  vim.api.nvim_create_autocmd('BufWriteCmd', { buffer = buf, callback = vim.schedule_wrap(written) })
end

--- The person turns to it.
---@param prompt aside.Prompt one with hunks
---@param done aside.Done
function M.start(prompt, done)
  local review = M.reviews[prompt.promptId]
  review.done, review.origin = done, require('aside.prompt').origin(prompt)
  -- Another change of the file makes room.
  local buf = client.buffer(prompt.preview.uri)
  for _, other in pairs(M.reviews) do
    if other ~= review and other.shown and other.shown.buf == buf then
      review.answers, other.answers = review.answers or other.answers, nil
      other:erase()
    end
  end
  if review:draw_inline() then
    local win = vim.fn.bufwinid(review.shown.buf)
    if win > 0 then
      vim.api.nvim_set_current_win(win)
    else
      client.to_code()
      vim.api.nvim_set_current_buf(review.shown.buf)
    end
  else
    review:on_page()
  end
  review:turn_to(review:undecided(1) or 1)
end

--- Whether a prompt is about lines of a file.
function M.is_change(prompt) return #hunks_of(prompt) > 0 end

return M

--- A change that waits for approval, shown where it would be made: removed lines coloured, added ones below them. It is
--- decided by hunks or as a whole, when the person turned to it.
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

local reviews = {} ---@type table<string, aside.Review> by prompt

---@param prompt aside.Prompt
---@return aside.Hunk[] none where it is about something else
local function hunks_of(prompt)
  local preview = prompt.preview
  return preview and preview.kind == 'diff' and (diff.hunks(preview.old, preview.new)) or {}
end

--- The buffer of the file, where it has the text that the change is for.
---@param preview table
---@return integer? buf
---@return boolean stale it is open, and has another text
local function buffer(preview)
  local buf = vim.fn.bufnr('^' .. vim.fn.fnameescape(vim.uri_to_fname(preview.uri)) .. '$')
  if buf < 0 or not vim.api.nvim_buf_is_loaded(buf) then return nil, false end
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  local text = table.concat(lines, '\n') .. (vim.bo[buf].endofline and '\n' or '')
  local same = text == preview.old:gsub('\r\n', '\n')
  return same and buf or nil, not same
end

--- Where a prompt's sign stands: at the first change of its file, if that is open.
---@param prompt aside.Prompt
---@return integer? buf
---@return integer? row
function M.place(prompt)
  local first = hunks_of(prompt)[1]
  if first then return buffer(prompt.preview), first.first - 1 end
end

--- A line in parts, coloured to its end: those that differ are in the second highlight.
---@param line string
---@param ranges integer[][]
---@return table chunks
local function chunks(line, ranges)
  local all, at = {}, 0
  for _, range in ipairs(ranges) do
    all[#all + 1] = { line:sub(at + 1, range[1]), 'AsideAdd' }
    all[#all + 1] = { line:sub(range[1] + 1, range[2]), { 'AsideAdd', 'AsideWord' } }
    at = range[2]
  end
  local rest = (' '):rep(math.max(0, vim.o.columns - vim.fn.strdisplaywidth(line)))
  all[#all + 1] = { line:sub(at + 1) .. rest, 'AsideAdd' }
  return all
end

--- What stands above a hunk, a line each.
---@param review aside.Review
---@param at integer
---@return table[]
local function header(review, at)
  local take = review.hunks[at].take
  local text = ('%s · %d of %d'):format(review.prompt.label, at, #review.hunks)
  if take ~= nil then return { { { text .. (take and ' · taken' or ' · left out'), 'AsideHeader' } } } end
  if not review.release then return { { { text .. ' · :Aside answer', 'AsideHeader' } } } end
  local keys = config.hint({
    { 'accept', 'take' },
    { 'reject', 'leave' },
    { 'accept_all', 'all' },
    { 'accept_turn', 'whole turn' },
    { 'reject_all', 'refuse' },
    { 'next', 'next' },
  })
  return { { { text, 'AsideHeader' } }, { { keys, 'AsideHeader' } } }
end

---@param review aside.Review
---@param row integer
---@param options vim.api.keyset.set_extmark
---@param column? integer
---@return integer
local function mark(review, row, options, column)
  return vim.api.nvim_buf_set_extmark(review.buf, namespace, row, column or 0, options)
end

--- Colours a line, and the parts of it that differ.
---@param review aside.Review
---@param row integer
---@param highlight string
---@param ranges? integer[][]
local function paint(review, row, highlight, ranges)
  mark(review, row, { line_hl_group = highlight, priority = 150 })
  for _, range in ipairs(ranges or {}) do
    mark(review, row, { end_col = range[2], hl_group = 'AsideWord', priority = 160 }, range[1])
  end
end

--- Draws one hunk of which the first line is at this row. Of one that was left out only the header is drawn.
---@param review aside.Review
---@param at integer
---@param row integer
local function draw_hunk(review, at, row)
  local hunk = review.hunks[at]
  local after, above, below = row + #hunk.removed, header(review, at), {}
  if hunk.take ~= false then
    local in_old, in_new = {}, {} ---@type integer[][][], integer[][][] of each line
    for number = 1, #hunk.removed == #hunk.added and #hunk.added or 0 do
      in_old[number], in_new[number] = diff.inside(hunk.removed[number], hunk.added[number])
    end
    for number in ipairs(hunk.removed) do
      paint(review, row + number - 1, 'AsideDelete', in_old[number])
    end
    for number, line in ipairs(hunk.added) do
      if review.inline then
        below[number] = chunks(line, in_new[number] or {})
      else
        paint(review, after + number - 1, 'AsideAdd', in_new[number])
      end
    end
  end
  if #hunk.removed > 0 then
    mark(review, after - 1, { virt_lines = below })
  else
    vim.list_extend(above, below)
  end
  local last = vim.api.nvim_buf_line_count(review.buf) - 1
  review.marks[at] = mark(review, math.min(row, last), { virt_lines = above, virt_lines_above = row <= last })
end

---@param review aside.Review
local function draw(review)
  vim.api.nvim_buf_clear_namespace(review.buf, namespace, 0, -1)
  local shift = 0
  for at, hunk in ipairs(review.hunks) do
    draw_hunk(review, at, hunk.first - 1 + shift)
    -- On a page the added lines are lines.
    shift = shift + (review.inline and 0 or #hunk.added)
  end
end

---@param review aside.Review
local function erase(review)
  if review.release then review.release() end
  if review.answers then review.answers() end
  if review.buf and vim.api.nvim_buf_is_valid(review.buf) then
    vim.api.nvim_buf_clear_namespace(review.buf, namespace, 0, -1)
  end
  review.buf, review.answers = nil, nil
end

--- Draws it in its file, if that is open with the text that it is for, has no other change drawn in it, and virtual
--- lines can show it: those of one hunk have to fit beside the line that they hang on. It is dropped when the text changes.
---@param review aside.Review
---@return boolean
local function draw_inline(review)
  local buf = buffer(review.prompt.preview)
  if not buf then return false end
  local win = vim.fn.bufwinid(buf)
  local room = math.floor((win > 0 and vim.api.nvim_win_get_height(win) or vim.o.lines) / 2)
  local long = vim.iter(review.hunks):any(function(hunk) return #hunk.added > room end)
  local taken = vim.iter(reviews):any(function(_, other) return other ~= review and other.buf == buf end)
  if long or taken then return false end
  if review.buf ~= buf then
    erase(review)
    review.buf, review.inline = buf, true
    local check = vim.schedule_wrap(function()
      if review.buf == buf and buffer(review.prompt.preview) ~= buf then erase(review) end
    end)
    vim.api.nvim_buf_attach(buf, false, {
      on_lines = function()
        check()
        return true
      end,
    })
  end
  draw(review)
  return true
end

--- Shows a change where it would be made, without anything that takes a key.
function M.offer(prompt)
  if prompt.resumable or not prompt.preview or prompt.preview.kind ~= 'diff' then return end
  reviews[prompt.promptId] = { prompt = prompt, hunks = hunks_of(prompt), marks = {}, inline = true }
  M.list(require('aside.prompt').open(), true)
  draw_inline(reviews[prompt.promptId])
end

--- Takes it off the screen for good.
function M.drop(id)
  local review = reviews[id]
  if not review then return end
  reviews[id] = nil
  erase(review)
  M.list(require('aside.prompt').open(), true)
end

--- Puts all changes that wait into the quickfix list.
---@param prompts aside.Prompt[]
---@param careful? boolean only into an empty list, or Aside's own
function M.list(prompts, careful)
  local items = {}
  for _, prompt in ipairs(prompts) do
    for _, hunk in ipairs(hunks_of(prompt)) do
      items[#items + 1] = {
        filename = vim.uri_to_fname(prompt.preview.uri),
        lnum = hunk.first,
        text = ('%s: -%d +%d'):format(prompt.label, #hunk.removed, #hunk.added),
      }
    end
  end
  local now = vim.fn.getqflist({ title = 0, size = 0 })
  local ours = now.title == 'Aside'
  if ours or #items > 0 and (not careful or now.size == 0) then
    vim.fn.setqflist({}, ours and 'r' or ' ', { title = 'Aside', items = items })
  end
end

--- Gives the decision to the server.
---@param review aside.Review
---@param answer string
---@param text? string the new text, where it is not the one that was proposed
local function settle(review, answer, text)
  local decision = { action = 'answer', answer = answer, newText = text }
  require('aside.prompt').settle(review.prompt, decision, review.done)
end

--- Sends what was decided, when all of it is.
---@param review aside.Review
---@return boolean
local function conclude(review)
  local decided = vim.tbl_filter(function(hunk) return hunk.take ~= nil end, review.hunks)
  local taken = vim.tbl_filter(function(hunk) return hunk.take == true end, decided)
  if #decided < #review.hunks then return false end
  local preview = review.prompt.preview
  local part = #taken < #decided and diff.compose(preview.old, preview.new, decided) or nil
  if #taken == 0 then
    settle(review, 'no')
  else
    settle(review, 'once', part)
  end
  return true
end

---@param review aside.Review
---@param at integer
---@return integer
local function row_of(review, at)
  return vim.api.nvim_buf_get_extmark_by_id(review.buf, namespace, review.marks[at], {})[1]
end

--- The last hunk that begins before the end of the cursor's line, or the first one.
---@param review aside.Review
---@return integer
local function hunk_here(review)
  local row, found = vim.api.nvim_win_get_cursor(0)[1] - 1, 1
  for at in ipairs(review.hunks) do
    found = row_of(review, at) <= row and at or found
  end
  return found
end

--- Goes to a hunk.
---@param review aside.Review
---@param at integer
local function go(review, at)
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { row_of(review, math.min(math.max(at, 1), #review.hunks)) + 1, 0 })
  -- What stands above the first line is seen only when it is scrolled to. What fits is shown whole.
  vim.cmd('normal! zz')
  local fits = vim.api.nvim_win_text_height(0, {}).all <= vim.api.nvim_win_get_height(0)
  if fits or vim.fn.line('w0') == 1 then vim.fn.winrestview({ topline = 1, topfill = 9 }) end
end

---@param review aside.Review
---@param take boolean
local function decide(review, take)
  local here, count = hunk_here(review), #review.hunks
  review.hunks[here].take = take
  if conclude(review) then return end
  draw(review)
  for number = 0, count - 1 do
    local at = (here + number) % count + 1
    if review.hunks[at].take == nil then return go(review, at) end
  end
end

--- What each key does.
---@type table<string, fun(review: aside.Review)>
local acts = {
  accept = function(review) decide(review, true) end,
  reject = function(review) decide(review, false) end,
  accept_all = function(review)
    for _, hunk in ipairs(review.hunks) do
      hunk.take = hunk.take ~= false
    end
    conclude(review)
  end,
  accept_turn = function(review) settle(review, 'turn') end,
  reject_all = function(review) require('aside.prompt').decline(review.prompt, review.done) end,
  next = function(review) go(review, hunk_here(review) + 1) end,
  previous = function(review) go(review, hunk_here(review) - 1) end,
}

--- Sets the keys, and takes them away again: a map that the buffer had comes back.
---@param review aside.Review
local function set_keys(review)
  local buf, before = review.buf, {} ---@cast buf integer
  for name, act in pairs(acts) do
    local key = config.get().keys[name]
    if key then
      before[key] = vim.api.nvim_buf_call(buf, function() return vim.fn.maparg(key, 'n', false, true) end)
      config.map(name, buf, function() act(review) end)
    end
  end
  local function typed()
    review.release()
    draw(review)
  end
  -- Who types in the file has turned away from it.
  local away = vim.api.nvim_create_autocmd('InsertEnter', { buffer = buf, callback = typed })
  review.release = function()
    review.release = nil
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
---@param review aside.Review
---@param stale boolean
local function on_page(review, stale)
  local prompt = review.prompt
  local preview = prompt.preview
  local hunks, before = diff.hunks(preview.old, preview.new)
  local lines, at = {}, 1
  for _, hunk in ipairs(hunks) do
    vim.list_extend(lines, before, at, hunk.first - 1)
    vim.list_extend(lines, hunk.removed)
    vim.list_extend(lines, hunk.added)
    at = hunk.first + #hunk.removed
  end
  vim.list_extend(lines, before, at)
  lines = vim.tbl_map(function(line) return (line:gsub('\r$', '')) end, lines)
  local name = vim.fn.fnamemodify(vim.uri_to_fname(preview.uri), ':~:.')
  local title = ('%s · %d of %d'):format(name, prompt.position.n, prompt.position.of)
  local footer = stale and 'the text changed since: taking it lets the model read it again' or nil
  erase(review)
  -- What stands above each hunk takes rows too.
  local options = { enter = true, height = vim.o.lines - 6, footer = footer, width = 72, above = 2 * #hunks }
  local buf = page.show(prompt.promptId, title, lines, options)
  local kind = vim.filetype.match({ filename = name, buf = buf })
  if kind then pcall(vim.treesitter.start, buf, vim.treesitter.language.get_lang(kind)) end
  review.buf, review.inline = buf, false
  local wiped = vim.schedule_wrap(function()
    if review.buf == buf then erase(review) end
  end)
  vim.api.nvim_create_autocmd('BufWipeout', { buffer = buf, once = true, callback = wiped })
end

--- The person turns to it.
---@param prompt aside.Prompt
---@param done fun(settled: boolean)
function M.start(prompt, done)
  local review = reviews[prompt.promptId]
  review.done = done
  if #review.hunks == 0 then return settle(review, 'once') end
  for _, hunk in ipairs(review.hunks) do
    hunk.take = nil
  end
  local _, stale = buffer(prompt.preview)
  if draw_inline(review) then
    -- In a window that shows it, else in this one.
    local win = vim.fn.bufwinid(review.buf)
    if win > 0 then vim.api.nvim_set_current_win(win) end
    vim.api.nvim_set_current_buf(review.buf --[[@as integer]])
  else
    on_page(review, stale)
  end
  review.answers = review.answers or require('aside.view').clear()
  if not review.release then set_keys(review) end
  draw(review)
  go(review, 1)
end

return M

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
---@field inline boolean in the file's own buffer, and not on a page
---@field marks integer[] of each hunk
---@field keys fun()? takes the keys away
---@field answers fun()? shows the answers again that stood in its way
---@field done? fun(settled: boolean)

local reviews = {} ---@type table<string, aside.Review> by prompt

---@param prompt aside.Prompt
---@return boolean
local function is_diff(prompt)
  return prompt.preview ~= nil and prompt.preview.kind == 'diff'
end

--- The buffer of the file, where it has the text that the change is for.
---@param preview table
---@return integer? buf
---@return boolean stale it is open, and has another text
local function buffer(preview)
  local buf = vim.fn.bufnr('^' .. vim.fn.fnameescape(vim.uri_to_fname(preview.uri)) .. '$')
  if buf < 0 or not vim.api.nvim_buf_is_loaded(buf) then
    return nil, false
  end
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
  if is_diff(prompt) then
    local buf = buffer(prompt.preview)
    local hunk = buf and diff.hunks(prompt.preview.old, prompt.preview.new)[1]
    return buf, hunk and hunk.first - 1 or 0
  end
end

--- A line in parts: those that differ are in the second highlight.
---@param line string
---@param ranges integer[][]
---@param plain string
---@return table chunks
local function chunks(line, ranges, plain)
  local all, at = {}, 0
  for _, range in ipairs(ranges) do
    all[#all + 1] = { line:sub(at + 1, range[1]), plain }
    all[#all + 1] = { line:sub(range[1] + 1, range[2]), { plain, 'AsideWord' } }
    at = range[2]
  end
  all[#all + 1] = { line:sub(at + 1), plain }
  -- Colours the line to its end.
  all[#all + 1] = { (' '):rep(math.max(0, vim.o.columns - vim.fn.strdisplaywidth(line))), plain }
  return all
end

--- What stands above a hunk, a line each.
---@param review aside.Review
---@param at integer
---@return string[]
local function header(review, at)
  local hunk, keys = review.hunks[at], config.get().keys
  local text = ('%s · %d of %d'):format(review.prompt.label, at, #review.hunks)
  if hunk.take ~= nil then
    return { text .. (hunk.take and ' · taken' or ' · left out') }
  elseif not review.keys then
    return { text .. ' · :Aside answer' }
  end
  local parts = {}
  for _, key in ipairs({
    { keys.accept, 'take' },
    { keys.reject, 'leave' },
    { keys.accept_all, 'all' },
    { keys.accept_turn, 'whole turn' },
    { keys.reject_all, 'refuse' },
    { keys.next, 'next' },
  }) do
    parts[#parts + 1] = key[1] and ('%s %s'):format(key[1], key[2]) or nil
  end
  return { text, table.concat(parts, ' · ') }
end

---@param review aside.Review
---@param row integer
---@param options vim.api.keyset.set_extmark
---@param column? integer
---@return integer
local function mark(review, row, options, column)
  return vim.api.nvim_buf_set_extmark(review.buf, namespace, row, column or 0, options)
end

--- Draws one hunk of which the first line is at this row. Of one that was left out only the header is drawn.
---@param review aside.Review
---@param at integer
---@param row integer
local function draw_hunk(review, at, row)
  local hunk = review.hunks[at]
  local added, above = {}, {}
  for number, line in ipairs(header(review, at)) do
    above[number] = { { line, 'AsideHeader' } }
  end
  local paired = #hunk.removed == #hunk.added
  local inside = {} ---@type integer[][][] of each added line
  local after = row + #hunk.removed
  for number, line in ipairs(hunk.take ~= false and hunk.removed or {}) do
    local here, ranges = row + number - 1, {}
    if paired then
      ranges, inside[number] = diff.inside(line, hunk.added[number])
    end
    mark(review, here, { line_hl_group = 'AsideDelete', priority = 150 })
    for _, range in ipairs(ranges) do
      mark(review, here, { end_col = range[2], hl_group = 'AsideWord', priority = 160 }, range[1])
    end
  end
  for number, line in ipairs(hunk.take ~= false and hunk.added or {}) do
    if review.inline then
      added[number] = chunks(line, inside[number] or {}, 'AsideAdd')
    else
      mark(review, after + number - 1, { line_hl_group = 'AsideAdd', priority = 150 })
      for _, range in ipairs(inside[number] or {}) do
        mark(review, after + number - 1, { end_col = range[2], hl_group = 'AsideWord', priority = 160 }, range[1])
      end
    end
  end
  if #hunk.removed > 0 then
    mark(review, after - 1, { virt_lines = added })
  else
    vim.list_extend(above, added)
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
  if review.keys then
    review.keys()
  end
  if review.answers then
    review.answers()
    review.answers = nil
  end
  if review.buf and vim.api.nvim_buf_is_valid(review.buf) then
    vim.api.nvim_buf_clear_namespace(review.buf, namespace, 0, -1)
  end
  review.buf = nil
end

--- Whether virtual lines can show it: those of one hunk have to fit beside the line that they hang on.
---@param hunks aside.Hunk[]
---@param buf integer
local function fits_inline(hunks, buf)
  local win = vim.fn.bufwinid(buf)
  local room = math.floor((win > 0 and vim.api.nvim_win_get_height(win) or vim.o.lines) / 2)
  for _, hunk in ipairs(hunks) do
    if #hunk.added > room then
      return false
    end
  end
  return true
end

--- Draws it in its file, if that is open with the text that it is for; it is dropped when the text changes.
---@param review aside.Review
---@return boolean
local function draw_inline(review)
  local buf = buffer(review.prompt.preview)
  if not buf or not fits_inline(review.hunks, buf) then
    return false
  end
  for _, other in pairs(reviews) do
    if other ~= review and other.buf == buf then
      return false
    end
  end
  if review.buf ~= buf then
    erase(review)
    review.buf, review.inline = buf, true
    vim.api.nvim_buf_attach(buf, false, {
      on_lines = function()
        vim.schedule(function()
          if review.buf == buf and buffer(review.prompt.preview) ~= buf then
            erase(review)
          end
        end)
        return true
      end,
    })
  end
  draw(review)
  return true
end

--- Shows a change where it would be made, without anything that takes a key.
---@param prompt aside.Prompt
function M.offer(prompt)
  if is_diff(prompt) and not prompt.resumable then
    local hunks = diff.hunks(prompt.preview.old, prompt.preview.new)
    local review = { prompt = prompt, hunks = hunks, marks = {}, inline = true }
    reviews[prompt.promptId] = review
    M.list(require('aside.prompt').open(), true)
    draw_inline(review)
  end
end

--- Takes it off the screen for good.
---@param id string
function M.drop(id)
  local review = reviews[id]
  reviews[id] = nil
  if review then
    erase(review)
  end
end

--- Puts all changes that wait into the quickfix list.
---@param prompts aside.Prompt[]
---@param careful? boolean only into an empty list, or Aside's own
function M.list(prompts, careful)
  local items = {}
  for _, prompt in ipairs(prompts) do
    for _, hunk in ipairs(is_diff(prompt) and diff.hunks(prompt.preview.old, prompt.preview.new) or {}) do
      items[#items + 1] = {
        filename = vim.uri_to_fname(prompt.preview.uri),
        lnum = hunk.first,
        text = ('%s: -%d +%d'):format(prompt.label, #hunk.removed, #hunk.added),
      }
    end
  end
  local now = vim.fn.getqflist({ title = 0, size = 0 })
  local ours = now.title == 'Aside'
  if #items > 0 and (not careful or ours or now.size == 0) then
    vim.fn.setqflist({}, ours and 'r' or ' ', { title = 'Aside', items = items })
  end
end

--- Gives the decision to the server.
---@param review aside.Review
---@param answer table
local function settle(review, answer)
  local done = review.done
  require('aside.prompt').settle(review.prompt, answer, done)
end

--- Sends what was decided, when all of it is.
---@param review aside.Review
local function conclude(review)
  local taken = 0
  for _, hunk in ipairs(review.hunks) do
    if hunk.take == nil then
      return false
    end
    taken = taken + (hunk.take and 1 or 0)
  end
  local preview = review.prompt.preview
  if taken == 0 then
    settle(review, { action = 'answer', answer = 'no' })
  else
    local all = taken == #review.hunks
    local text = not all and diff.compose(preview.old, preview.new, review.hunks) or nil
    settle(review, { action = 'answer', answer = 'once', newText = text })
  end
  return true
end

--- The hunk at the cursor, or the next one after it.
---@param review aside.Review
---@param step integer 0 for that one, 1 for the one after, -1 for the one before
---@return integer at
---@return integer row
local function hunk_at(review, step)
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local at, rows = 1, {}
  for number, id in ipairs(review.marks) do
    rows[number] = vim.api.nvim_buf_get_extmark_by_id(review.buf, namespace, id, {})[1]
    at = rows[number] <= row and number or at
  end
  at = math.min(math.max(at + step, 1), #rows)
  return at, rows[at]
end

---@param row integer
local function go(row)
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { row + 1, 0 })
  -- What stands above the first line is seen only when it is scrolled to.
  vim.cmd('normal! zz')
  if vim.fn.line('w0') == 1 then
    vim.fn.winrestview({ topline = 1, topfill = 9 })
  end
end

---@param review aside.Review
---@param take boolean
local function decide(review, take)
  local at = hunk_at(review, 0)
  review.hunks[at].take = take
  if conclude(review) then
    return
  end
  draw(review)
  for number = 1, #review.hunks do
    local other = (at + number - 1) % #review.hunks + 1
    if review.hunks[other].take == nil then
      local row = vim.api.nvim_buf_get_extmark_by_id(review.buf, namespace, review.marks[other], {})[1]
      return go(row)
    end
  end
end

---@param review aside.Review
local function accept_rest(review)
  for _, hunk in ipairs(review.hunks) do
    if hunk.take == nil then
      hunk.take = true
    end
  end
  conclude(review)
end

--- What each key does.
---@type table<string, fun(review: aside.Review)>
local acts = {
  accept = function(review)
    decide(review, true)
  end,
  reject = function(review)
    decide(review, false)
  end,
  accept_all = accept_rest,
  accept_turn = function(review)
    settle(review, { action = 'answer', answer = 'turn' })
  end,
  reject_all = function(review)
    require('aside.prompt').decline(review.prompt, review.done)
  end,
  next = function(review)
    local _, row = hunk_at(review, 1)
    go(row)
  end,
  previous = function(review)
    local _, row = hunk_at(review, -1)
    go(row)
  end,
}

--- Sets the keys, and takes them away again: a map that the buffer had comes back.
---@param review aside.Review
local function set_keys(review)
  local buf, before = review.buf, {} ---@cast buf integer
  for name, act in pairs(acts) do
    local key = config.get().keys[name]
    if key then
      vim.api.nvim_buf_call(buf, function()
        local map = vim.fn.maparg(key, 'n', false, true)
        before[key] = map.buffer == 1 and map or false
      end)
      vim.keymap.set('n', key, function()
        act(review)
      end, { buffer = buf, nowait = true, desc = 'Aside: ' .. name })
    end
  end
  -- Who types in the file has turned away from it.
  local away = vim.api.nvim_create_autocmd('InsertEnter', {
    buffer = buf,
    once = true,
    callback = function()
      if review.keys then
        review.keys()
        draw(review)
      end
    end,
  })
  review.keys = function()
    review.keys = nil
    pcall(vim.api.nvim_del_autocmd, away)
    if not vim.api.nvim_buf_is_valid(buf) then
      return
    end
    vim.api.nvim_buf_call(buf, function()
      for key, map in pairs(before) do
        pcall(vim.keymap.del, 'n', key, { buffer = buf })
        if map then
          vim.fn.mapset('n', false, map)
        end
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
  for number, line in ipairs(lines) do
    lines[number] = line:gsub('\r$', '')
  end
  local name = vim.fn.fnamemodify(vim.uri_to_fname(preview.uri), ':~:.')
  local title = ('%s · %d of %d'):format(name, prompt.position.n, prompt.position.of)
  local footer = stale and 'the text changed since: taking it lets the model read it again' or nil
  erase(review)
  local height = vim.o.lines - 6
  local buf = page.show(prompt.promptId, title, lines, { enter = true, height = height, footer = footer, width = 72 })
  vim.bo[buf].filetype = ''
  local kind = vim.filetype.match({ filename = name, buf = buf })
  if kind then
    pcall(vim.treesitter.start, buf, vim.treesitter.language.get_lang(kind))
  end
  review.buf, review.inline = buf, false
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = buf,
    once = true,
    callback = vim.schedule_wrap(function()
      if review.buf == buf then
        erase(review)
      end
    end),
  })
end

--- The person turns to it.
---@param prompt aside.Prompt
---@param done fun(settled: boolean)
function M.start(prompt, done)
  local review = reviews[prompt.promptId]
  review.done = done
  if #review.hunks == 0 then
    return settle(review, { action = 'answer', answer = 'once' })
  end
  for _, hunk in ipairs(review.hunks) do
    hunk.take = nil
  end
  local _, stale = buffer(prompt.preview)
  if draw_inline(review) then
    local buf = assert(review.buf)
    local win = vim.fn.bufwinid(buf)
    if win > 0 then
      vim.api.nvim_set_current_win(win)
    else
      vim.cmd.buffer(buf)
    end
  else
    on_page(review, stale)
  end
  review.answers = review.answers or require('aside.view').clear()
  if not review.keys then
    set_keys(review)
  end
  draw(review)
  go(vim.api.nvim_buf_get_extmark_by_id(review.buf, namespace, review.marks[1], {})[1])
end

return M

--- What Aside changed in files without asking, until the person looked at it: shown in place, part by part, each of which
--- can be taken back.
local Shown = require('aside.shown')
local client = require('aside.client')
local config = require('aside.config')
local diff = require('aside.diff')
local keys = require('aside.keys')
local log = require('aside.log')
local page = require('aside.page')

local M = {
  look = nil, ---@type aside.Look?
}

local PAGE = 'changes' -- its name, where a window cannot show them
local LABEL = 'changed by Aside'

--- A file with changes that nobody looked at yet.
---@class aside.Changed
---@field base string the text without them
---@field after string the text with them, as Aside left it
---@field created boolean it was not there before

local files = {} ---@type table<string, aside.Changed> by URI
local edits = {} ---@type table<string, { before: string, after: string }[]> of open files, until a turn tells of them
local news = false -- whether any came since the person was told
local approved = {} ---@type table<string, string> files of calls whose change the person saw, by turn and call

--- The text of a buffer, with plain line breaks.
local function text_of(buf)
  local ends = vim.bo[buf].endofline and '\n' or ''
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\n') .. ends
  return text == '\n' and '' or text
end

--- The text of a file, as it is now.
---@return string?
local function read(uri)
  local buf = client.buffer(uri)
  if buf then return text_of(buf) end
  local file = io.open(vim.uri_to_fname(uri), 'rb')
  local text = file and file:read('*a')
  if file then file:close() end
  return text
end

---@param text string
local function plain(text) return (text:gsub('\r\n', '\n')) end

--- What takes back the changes of a file, in its present text.
---@param file aside.Changed
---@param now string
---@return aside.Hunk[] hunks of the present text
---@return aside.Hunk[] all the same, of the text as Aside left it
local function to_take_back(file, now) return diff.move_some(file.after, now, diff.hunks(file.after, file.base)) end

--- A text with each of these hunks.
---@param hunks aside.Hunk[]
local function with(text, hunks)
  local lines = diff.weave(text, hunks, function(hunk) return hunk.added end)
  return table.concat(lines, '\n') .. (#lines > 0 and '\n' or '')
end

--- Notes that a file was changed without anybody having seen it.
---@param before string
---@param after string
---@param created? boolean the file was not there before
function M.record(uri, before, after, created)
  local known = files[uri]
  -- What others changed since is none of it.
  local base = known and with(before, (to_take_back(known, before))) or before
  files[uri] = { base = base, after = after, created = created or known and known.created or false }
end

--- An edit of an open file, which the server asked for. Others may follow before the turn tells of it.
---@param edit fun()
function M.around(buf, edit)
  local before = text_of(buf)
  edit()
  local uri = vim.uri_from_bufnr(buf)
  edits[uri] = edits[uri] or {}
  table.insert(edits[uri], { before = before, after = text_of(buf) })
end

--- Two turns may name their calls alike.
local function key_of(turn, call) return turn .. ' ' .. call end

--- The person saw the change of a call, and took it.
---@param prompt aside.Prompt
function M.approve(prompt)
  approved[key_of(prompt.turnId, prompt.tool.callId)] = vim.fs.basename(vim.uri_to_fname(prompt.preview.uri))
end

--- The name of the file of a call whose change the person took.
---@param turn string
---@param call string
---@return string?
function M.approved(turn, call) return approved[key_of(turn, call)] end

--- The update of a turn that tells of an edit.
---@param turn string
---@param update { callId: string, changes: { uri: string, diff?: string }[] }
function M.made(turn, update)
  for _, change in ipairs(update.changes) do
    local made, now = table.remove(edits[change.uri] or {}, 1), read(change.uri)
    local before = made and made.before or now and change.diff and diff.before(now, change.diff)
    if before and now and not M.approved(turn, update.callId) then
      news = true
      local created = vim.startswith(change.diff or '', '--- /dev/null\n')
      M.record(change.uri, plain(before), plain(made and made.after or now), created)
    end
  end
end

--- The server is gone: no turn tells of what it did.
function M.abandon() edits = {} end

--- Files were put back: nothing of them is to be looked at.
---@param uris string[]
function M.forget(uris)
  for _, uri in ipairs(uris) do
    files[uri], edits[uri] = nil, nil
  end
end

--- The files with changes to look at, and how many there are in each.
---@return { uri: string, hunks: aside.Hunk[] }[]
function M.open()
  local all = {}
  for uri, file in vim.spairs(files) do
    local now = read(uri)
    local hunks = now and to_take_back(file, plain(now)) or {}
    if #hunks > 0 then all[#all + 1] = { uri = uri, hunks = hunks } end
  end
  return all
end

--- What is looked at now.
---@class aside.Look
---@field uri string
---@field buf integer
---@field hunks aside.Hunk[] of the present text
---@field all aside.Hunk[] of the text as Aside left it
---@field shown aside.Shown where it is
---@field release fun() takes the keys away

--- Ends it; the changes are kept for another time.
function M.stop()
  local look = M.look
  if not look then return end
  M.look = nil
  look.release()
  look.shown:erase()
  page.close(PAGE)
end

local show ---@type fun(buf: integer, at: integer)

--- Removes the file of a buffer where Aside made it and all of it was taken back. The buffer stays: `u` and `:w` bring it
--- back.
---@return string? name of the file, if it was removed
local function remove_created(buf)
  local file, name = files[vim.uri_from_bufnr(buf)], vim.api.nvim_buf_get_name(buf)
  local gone = file and file.created and file.base == '' and text_of(buf) == '' and not vim.bo[buf].modified
  if not gone or not vim.uv.fs_unlink(name) then return end
  -- Neovim would say later that the file is not there any more.
  vim.cmd.checktime({ args = { tostring(buf) }, mods = { silent = true, emsg_silent = true } })
  return vim.fn.fnamemodify(name, ':~:.')
end

--- Goes on after a part was kept or taken back.
---@param at integer
local function go_on(at)
  local buf = assert(M.look).buf
  M.stop()
  local win = vim.fn.bufwinid(buf)
  if win > 0 and vim.api.nvim_get_current_buf() ~= buf then vim.api.nvim_set_current_win(win) end
  local left = M.open()
  local here ---@type { uri: string, hunks: aside.Hunk[] }?
  for _, file in ipairs(left) do
    here = client.buffer(file.uri) == buf and file or here
  end
  if here then return show(buf, math.min(at, #here.hunks)) end
  local removed = remove_created(buf)
  local said = removed and ('removed %s; '):format(removed) or ''
  files[vim.uri_from_bufnr(buf)] = nil
  if #left == 0 then return log.say(said .. 'all changes were looked at') end
  local more = #left == 1 and 'one more file was changed' or ('%d more files were changed'):format(#left)
  log.say(said .. more, nil, ' — :Aside review')
end

--- Keeps some parts: they are no changes any more.
---@param parts integer[]
local function keep(parts)
  local this = assert(M.look)
  local file = files[this.uri]
  local left = {}
  for at, hunk in ipairs(this.all) do
    if not vim.tbl_contains(parts, at) then left[#left + 1] = hunk end
  end
  -- Those that are left are the difference from now on.
  file.base = with(file.after, left)
end

--- Takes some parts back, as one undo, and saves the file where nothing else was unsaved.
---@param parts integer[] the first one first
local function take_back(parts)
  local this = assert(M.look)
  local saved = not vim.bo[this.buf].modified
  vim.bo[this.buf].undolevels = vim.bo[this.buf].undolevels
  for number = #parts, 1, -1 do
    local hunk = this.hunks[parts[number]]
    local row = hunk.first - 1
    vim.api.nvim_buf_set_lines(this.buf, row, row + #hunk.removed, true, hunk.added)
  end
  if saved then vim.api.nvim_buf_call(this.buf, function() vim.cmd('silent! update') end) end
end

---@return integer[]
local function all_parts()
  local parts = {}
  for at in ipairs(assert(M.look).hunks) do
    parts[at] = at
  end
  return parts
end

--- Brings a part on the screen. One that cannot be there as a whole in its file is shown on a page.
---@param at integer
local function go(at)
  local this = assert(M.look)
  at = math.min(math.max(at, 1), #this.hunks)
  local view = vim.fn.winsaveview()
  if this.shown:go(at) or not this.shown.inline then return end
  vim.fn.winrestview(view)
  M.on_page(at)
end

--- Whether the person has seen that of the cursor, or all; what is not on the screen comes there.
---@param all? boolean
local function may_decide(all) return assert(M.look).shown:lets_decide(all, go) end

---@param step integer
local function move(step)
  vim.cmd("normal! m'")
  go(assert(M.look).shown:here() + step)
end

--- The action of each key.
local acts = {
  accept = function()
    local at = assert(M.look).shown:here()
    if not may_decide() then return end
    keep({ at })
    go_on(at)
  end,
  reject = function()
    local at = assert(M.look).shown:here()
    if not may_decide() then return end
    take_back({ at })
    go_on(at)
  end,
  accept_all = function()
    if not may_decide(true) then return end
    keep(all_parts())
    go_on(1)
  end,
  reject_all = function()
    if not may_decide(true) then return end
    take_back(all_parts())
    go_on(1)
  end,
  next = function() move(1) end,
  previous = function() move(-1) end,
  hide = M.stop,
}

--- Sets the keys where they are shown.
---@param at integer the one to go to
---@param misfits fun() what is done where the window has another size
local function turn_to(at, misfits)
  local this = assert(M.look)
  local release, unwatch = keys.hold(this.shown.buf, acts, M.stop), this.shown:watch(misfits)
  this.release = function()
    unwatch()
    release()
  end
  this.shown:draw()
  go(at)
end

--- Shows them on a page of their own.
---@param at integer
function M.on_page(at)
  local this = assert(M.look)
  this.release()
  this.shown:erase()
  local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(this.buf), ':~:.')
  local shown = Shown.on_page(PAGE, {
    title = name,
    name = name,
    text = text_of(this.buf),
    label = LABEL,
    tabstop = vim.bo[this.buf].tabstop,
    made = true,
  }, this.hunks)
  this.shown = shown
  local function wiped()
    if M.look == this and this.shown == shown then M.stop() end
  end
  local ends = { buffer = shown.buf, once = true, callback = vim.schedule_wrap(wiped) }
  vim.api.nvim_create_autocmd('BufWipeout', ends)
  turn_to(at, function() M.on_page(shown:here()) end)
end

function show(buf, at)
  local uri = vim.uri_from_bufnr(buf)
  local hunks, all = to_take_back(files[uri], text_of(buf))
  local shown = Shown.new(buf, hunks, LABEL, nil, true)
  local function release() end -- there are no keys yet
  local this = { uri = uri, buf = buf, hunks = hunks, all = all, shown = shown, release = release } ---@type aside.Look
  M.look = this
  local changed = vim.schedule_wrap(function()
    if M.look ~= this then return end
    local here = vim.api.nvim_get_current_buf() == buf and shown:here() or 1
    M.stop()
    local left = files[uri] and to_take_back(files[uri], text_of(buf)) or {}
    if #left > 0 and vim.api.nvim_get_current_buf() == buf then show(buf, math.min(here, #left)) end
  end)
  local function over() return M.look ~= this end
  vim.api.nvim_buf_attach(buf, false, { on_lines = function() return over() or changed() end, on_reload = changed })
  turn_to(at, function() shown:draw() end)
end

--- Goes to what Aside changed: in this file, else in the first one.
function M.review()
  local all, buf = M.open(), vim.api.nvim_get_current_buf()
  M.stop()
  if #all == 0 then return log.say('nothing was changed that you have not seen') end
  local here = vim.iter(all):find(function(file) return client.buffer(file.uri) == buf end) or all[1]
  local name = vim.uri_to_fname(here.uri)
  if client.buffer(here.uri) ~= buf then
    client.open(name)
    buf = vim.api.nvim_get_current_buf()
  end
  require('aside.pane').clear()
  -- Another one may have been picked from the file's changes by the time it is read.
  local row, at = vim.api.nvim_win_get_cursor(0)[1], 1
  for number, hunk in ipairs(here.hunks) do
    at = hunk.first <= row and number or at
  end
  show(buf, at)
end

--- Says after a turn what there is to look at, if anything is.
---@return boolean
function M.tell()
  local all = news and M.open() or {}
  news = false
  if #all == 0 then return false end
  if not config.get().notify then return true end
  local names = vim.tbl_map(function(file) return vim.fs.basename(vim.uri_to_fname(file.uri)) end, all)
  log.say('changed ' .. table.concat(names, ', '), nil, ' — :Aside review')
  return true
end

return M

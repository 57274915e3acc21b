--- The message that a person writes below a conversation: of several lines, with a history, and with what goes along with
--- it named by its words, so that it is seen and can be taken out.
local attachments = require('aside.attachments')
local client = require('aside.client')
local config = require('aside.config')
local turn = require('aside.turn')

local M = {
  NAME = 'aside://%d/message', -- the name of its buffer, by that of the answer
}

local KEPT = 200 -- messages of the history
local PAUSE = 500 -- milliseconds until what was typed is kept

--- The history is one of all conversations and all Neovims: a message a line, as JSON.
local path = vim.fs.joinpath(vim.fn.stdpath('state') --[[@as string]], 'aside-messages')
--- What is not sent yet, by conversation: of a new one it has no name.
local drafts = vim.fs.joinpath(vim.fn.stdpath('state') --[[@as string]], 'aside-drafts')

--- Writes a file that nobody else reads.
---@param file string
---@param text string
local function write(file, text)
  vim.fn.mkdir(vim.fs.dirname(file), 'p')
  local new = ('%s.%d'):format(file, vim.uv.os_getpid())
  local to = vim.uv.fs_open(new, 'w', 384) -- 0600
  if not to then return end
  vim.uv.fs_write(to, text)
  vim.uv.fs_close(to)
  vim.uv.fs_rename(new, file)
end

---@return string[] the oldest first
local function history()
  local lines = vim.fn.filereadable(path) == 1 and vim.fn.readfile(path, '', -KEPT) or {}
  local all = {}
  for _, line in ipairs(lines) do
    local ok, text = pcall(vim.json.decode, line)
    all[#all + 1] = ok and type(text) == 'string' and text or nil
  end
  return all
end

--- Keeps a message that was sent.
---@param text string
function M.remember(text)
  local all = history()
  if all[#all] == text then return end
  all[#all + 1] = text
  local lines = vim.tbl_map(vim.json.encode, vim.list_slice(all, math.max(1, #all - KEPT + 1)))
  write(path, table.concat(lines, '\n') .. '\n')
end

---@param buf integer
---@return string
local function text_of(buf) return vim.trim(table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\n')) end

---@param buf integer
---@param text string
local function set(buf, text)
  local lines = vim.split(text, '\n')
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  if vim.api.nvim_get_current_buf() == buf then vim.api.nvim_win_set_cursor(0, { #lines, #lines[#lines] }) end
end

--- Goes through the history. What was begun comes back behind the newest.
---@param step -1|1
local function recall(buf, step)
  local all, state = history(), vim.b[buf].aside_recall or {} ---@type string[], { at?: integer, draft?: string }
  local at = (state.at or #all + 1) + step
  if at < 1 or at > #all + 1 then return end
  if not state.at then state.draft = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\n') end
  state.at = at
  vim.b[buf].aside_recall = at <= #all and state or nil
  set(buf, all[at] or state.draft)
end

--- The words of a command, where the message is one.
---@param text string
---@return string? name
---@return string rest
local function command_in(text)
  local name, rest = text:match('^/(%a+)%s*(.*)$')
  local known = name and require('aside.command').slash(name)
  return known and name or nil, rest or ''
end

local namespace = vim.api.nvim_create_namespace('aside.message')

--- Says in an empty message what it is for.
local function invite(buf)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  if text_of(buf) ~= '' then return end
  local hint = config.hint({ config.sends() })
  local virtual = { { '@file goes along · /command · ' .. hint, 'Comment' } }
  vim.api.nvim_buf_set_extmark(buf, namespace, 0, 0, { virt_text = virtual, virt_text_pos = 'overlay' })
end

--- Lists above it what goes along.
local function list(buf)
  invite(buf)
  local win = vim.fn.bufwinid(buf)
  if win < 0 then return end
  local text = text_of(buf)
  local along = command_in(text) and 'a command' or attachments.foretell(text)
  vim.wo[win][0].winbar = ' ' .. (along ~= '' and along or 'nothing goes along'):gsub('%%', '%%%%') .. '%<'
end

---@return table<string, string>
local function all_drafts()
  local lines = vim.fn.filereadable(drafts) == 1 and vim.fn.readfile(drafts) or {}
  local ok, all = pcall(vim.json.decode, table.concat(lines, '\n'))
  return ok and type(all) == 'table' and all or {}
end

--- Keeps the draft of a conversation, also for the Neovim that comes after this one.
---@param conversation? string
---@param text string none where it is empty
function M.keep(conversation, text)
  local all, key = all_drafts(), conversation or 'new'
  if (all[key] or '') == text then return end
  all[key] = text ~= '' and text or nil
  write(drafts, vim.json.encode(all))
end

--- Writes the draft that was kept, where nothing is written.
---@param view aside.View
function M.restore(view)
  local buf, text = view.message, all_drafts()[view.conversation or 'new']
  if not text or not buf or not vim.api.nvim_buf_is_valid(buf) or text_of(buf) ~= '' then return end
  set(buf, text)
  list(buf)
end

--- Sends what is written; what begins with the name of a command is done at once.
---@param view aside.View
local function send(view)
  local buf = assert(view.message)
  local text = text_of(buf)
  if text == '' then return end
  local name, rest = command_in(text)
  vim.cmd('stopinsert')
  set(buf, '')
  list(buf)
  M.keep(view.conversation, '')
  vim.b[buf].aside_recall = nil
  if name then return vim.cmd(('Aside %s %s'):format(name, rest:gsub('\n', ' '))) end
  local along, missing = attachments.named(text, (client.code()))
  turn.ask({
    message = text,
    attachments = #along > 0 and along or nil,
    missing = missing,
    view = view,
    -- Unless the person has begun another one.
    undelivered = function()
      if vim.api.nvim_buf_is_valid(buf) and text_of(buf) == '' then set(buf, text) end
    end,
  })
end

--- A key that moves in the text does so, but in the first or the last line, where it goes through the history.
---@param name string of `aside.Keys`
---@param step -1|1
local function map_recall(buf, name, step)
  local key = config.get().keys[name]
  if not key then return end
  vim.keymap.set({ 'n', 'i' }, key, function()
    local edge = step < 0 and 1 or vim.api.nvim_buf_line_count(buf)
    if vim.fn.pumvisible() == 0 and vim.fn.line('.') == edge then return recall(buf, step) end
    vim.api.nvim_feedkeys(vim.keycode(key), 'in', false)
  end, { buffer = buf, desc = 'Aside: ' .. name })
end

--- The buffer of a conversation's message.
---@param view aside.View
---@return integer
function M.buffer(view)
  if view.message and vim.api.nvim_buf_is_valid(view.message) then return view.message end
  local buf = vim.api.nvim_create_buf(false, true)
  view.message = buf
  vim.api.nvim_buf_set_name(buf, M.NAME:format(view.buf))
  vim.bo[buf].bufhidden, vim.bo[buf].textwidth = 'hide', 0
  vim.treesitter.language.register('markdown', 'aside-message')
  vim.bo[buf].filetype = 'aside-message'
  vim.bo[buf].omnifunc = "v:lua.require'aside.complete'.omnifunc"
  config.map('send', buf, function() send(view) end)
  config.map('send_typing', buf, function() send(view) end, 'i')
  config.map('hide', buf, function() view:hide() end)
  map_recall(buf, 'older', -1)
  map_recall(buf, 'newer', 1)
  require('aside.complete').map(buf)
  local due = false
  local function keep()
    due = false
    if view.message == buf and vim.api.nvim_buf_is_valid(buf) then M.keep(view.conversation, text_of(buf)) end
  end
  local function keep_soon()
    if not due then vim.defer_fn(keep, PAUSE) end
    due = true
  end
  vim.api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI', 'TextChangedP', 'BufWinEnter' }, {
    buffer = buf,
    callback = function()
      list(buf)
      keep_soon()
    end,
  })
  vim.api.nvim_create_autocmd('VimLeavePre', { callback = keep })
  M.restore(view)
  local function anew()
    if vim.api.nvim_buf_is_valid(buf) then invite(buf) end
  end
  vim.api.nvim_create_autocmd('ModeChanged', { buffer = buf, callback = vim.schedule_wrap(anew) })
  return buf
end

--- Options of the window in which it is written.
---@param win integer
function M.dress(win)
  local options = { wrap = true, linebreak = true, number = false, relativenumber = false, signcolumn = 'no' }
  options.winfixbuf = true
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = win, scope = 'local' })
  end
  list(vim.api.nvim_win_get_buf(win))
end

--- Puts words in front of what is written.
---@param view aside.View
---@param words string
function M.add(view, words)
  local buf = M.buffer(view)
  local first = vim.api.nvim_buf_get_lines(buf, 0, 1, true)[1]
  vim.api.nvim_buf_set_lines(buf, 0, 1, true, { words .. ' ' .. first })
  vim.api.nvim_win_set_cursor(0, { 1, #words + 1 })
  list(buf)
end

return M

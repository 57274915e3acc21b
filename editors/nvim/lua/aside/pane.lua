--- The home of a conversation: its page, and below it the message that the person writes. A split or a float, as it is
--- configured; one in each tab page.
local View = require('aside.view')
local client = require('aside.client')
local config = require('aside.config')
local message = require('aside.message')
local turn = require('aside.turn')

local M = {}

local LEAST, MOST = 3, 10 -- rows of the message

---@class aside.Pane
---@field view aside.View
---@field page integer window
---@field message integer window

local panes = {} ---@type table<integer, aside.Pane> by tab page

--- The one of this tab page.
---@return aside.Pane?
local function here()
  local pane = panes[vim.api.nvim_get_current_tabpage()]
  local function is_there(win) return vim.api.nvim_win_is_valid(win) end
  return pane and is_there(pane.page) and is_there(pane.message) and pane or nil
end

---@param pane aside.Pane
local function close(pane)
  for _, win in ipairs({ pane.message, pane.page }) do
    -- The last window of all stays.
    pcall(vim.api.nvim_win_close, win, true)
  end
end

--- The rows that the message takes.
local function rows(buf) return math.min(math.max(vim.api.nvim_buf_line_count(buf), LEAST), MOST) end

--- The windows of a float: in the middle, the message below the page.
---@return vim.api.keyset.win_config page
---@return vim.api.keyset.win_config message
local function floats(buf)
  local width = math.max(20, math.min(config.get().width + 20, vim.o.columns - 4))
  local height = math.max(3, vim.o.lines - vim.o.cmdheight - rows(buf) - 7)
  local common = { relative = 'editor', width = width, border = 'rounded', zindex = 40 }
  common.col = math.floor((vim.o.columns - width) / 2) - 1
  local page = vim.tbl_extend('force', common, { row = 0, height = height })
  return page, vim.tbl_extend('force', common, { row = height + 2, height = rows(buf) })
end

--- The windows of a split.
---@return vim.api.keyset.win_config page
---@return vim.api.keyset.win_config message
local function splits(place, buf)
  local page = { split = place, win = -1 } ---@type vim.api.keyset.win_config
  if place == 'below' then
    page.height = math.floor(vim.o.lines / 2)
  else
    page.width = math.max(20, math.min(config.get().width, math.floor(vim.o.columns / 2)))
  end
  return page, { split = 'below', height = rows(buf) }
end

--- Keeps the message as high as it is long.
---@param pane aside.Pane
local function fit(pane)
  if not vim.api.nvim_win_is_valid(pane.message) then return end
  local buf = vim.api.nvim_win_get_buf(pane.message)
  if vim.api.nvim_win_get_config(pane.message).relative == '' then
    if vim.api.nvim_win_get_height(pane.message) ~= rows(buf) then
      vim.api.nvim_win_set_height(pane.message, rows(buf))
    end
    return
  end
  local page, below = floats(buf)
  vim.api.nvim_win_set_config(pane.page, page)
  vim.api.nvim_win_set_config(pane.message, below)
end

--- Where no other window is left, its windows take any buffer again.
local function free()
  local pane = here()
  if not pane then return end
  local own = { pane.page, pane.message }
  local function is_other(win) return not vim.tbl_contains(own, win) and vim.api.nvim_win_get_config(win).relative == '' end
  if vim.iter(vim.api.nvim_tabpage_list_wins(0)):any(is_other) then return end
  for _, win in ipairs(own) do
    vim.wo[win].winfixbuf = false
  end
end

--- A session says at its end which conversation the pane has: of windows it keeps names alone. It names them without a
--- message, after several of which Neovim would wait for Enter as it starts.
local function note_in_session()
  local pane, file = here(), vim.v.this_session
  local function quiet(line) return (line:gsub('^file aside://', 'silent %0')) end
  local lines = vim.tbl_map(quiet, vim.fn.readfile(file))
  local conversation = pane and pane.view.conversation
  lines[#lines + 1] = conversation and ("let g:aside_conversation = '%s'"):format(conversation) or nil
  vim.fn.writefile(lines, file)
end

--- Opens its windows, in none of which the cursor is yet.
---@param view aside.View
---@return aside.Pane
local function open(view)
  local buf, place = message.buffer(view), config.get().pane
  local page, below = (place == 'float' and floats or splits)(place == 'float' and buf or place, buf)
  local pane = { view = view, page = 0, message = 0 } ---@type aside.Pane
  pane.page = vim.api.nvim_open_win(view.buf, false, page)
  vim.w[pane.page].aside_pane = true
  if place ~= 'float' then below.win = pane.page end
  pane.message = vim.api.nvim_open_win(buf, false, below)
  panes[vim.api.nvim_get_current_tabpage()] = pane
  local group = vim.api.nvim_create_augroup('aside.pane.session', {})
  vim.api.nvim_create_autocmd('SessionWritePost', { group = group, callback = note_in_session })
  vim.api.nvim_create_autocmd('WinClosed', {
    group = vim.api.nvim_create_augroup('aside.pane', { clear = false }),
    pattern = { tostring(pane.page), tostring(pane.message) },
    once = true,
    callback = vim.schedule_wrap(function() close(pane) end),
  })
  vim.api.nvim_create_autocmd('WinClosed', {
    group = vim.api.nvim_create_augroup('aside.pane.free', {}),
    callback = vim.schedule_wrap(free),
  })
  return pane
end

--- Shows a conversation in it, and puts the cursor into the message.
---@param view aside.View
function M.show(view)
  local pane = here()
  if not pane or pane.view ~= view then view:hide() end
  pane = here()
  if not pane then
    View.clear()
    pane = open(view)
  end
  pane.view = view
  local buf = message.buffer(view)
  vim.wo[pane.page].winfixbuf, vim.wo[pane.message].winfixbuf = false, false
  vim.api.nvim_win_set_buf(pane.page, view.buf)
  vim.api.nvim_win_set_buf(pane.message, buf)
  View.dress(pane.page)
  message.dress(pane.message)
  local stiff = config.get().pane == 'below' and 'winfixheight' or 'winfixwidth'
  vim.wo[pane.page][0][stiff], vim.wo[pane.message][0].winfixheight = true, true
  vim.api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI', 'TextChangedP', 'VimResized' }, {
    group = vim.api.nvim_create_augroup('aside.pane.fit.' .. buf, {}),
    buffer = buf,
    callback = function() fit(pane) end,
  })
  fit(pane)
  view:redraw()
  local function last(win)
    vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(win)), 0 })
  end
  last(pane.page)
  last(pane.message)
  vim.api.nvim_win_call(pane.page, function() vim.cmd('normal! zb') end)
  vim.api.nvim_set_current_win(pane.message)
  require('aside.pick').learn_mode(function() view:redraw() end)
end

--- Shows a conversation in the pane of this tab page, where there is one; the cursor stays where it is.
---@param view aside.View
---@return boolean
function M.take(view)
  local win = vim.api.nvim_get_current_win()
  if not here() then return false end
  M.show(view)
  if vim.api.nvim_win_is_valid(win) then vim.api.nvim_set_current_win(win) end
  return true
end

--- Goes to the message below a conversation, and writes on.
---@param view aside.View
function M.reply(view)
  M.show(view)
  vim.cmd('startinsert!')
end

--- The conversation that the pane has where none is on the screen: the one given or the last one of this Neovim, else a
--- new one.
---@param conversation? string
---@return aside.View view
---@return boolean known whether it was there
local function last_one(conversation)
  local view = View.of(conversation)
  if view then return view, true end
  view = View.new()
  view.title = 'a new conversation'
  return view, false
end

--- Fills an empty page with a conversation, or else the last one that there is, unless something was begun on it
--- meanwhile.
---@param view aside.View
---@param conversation? string
local function fill(view, conversation)
  client.ready(function()
    client.request('aside/conversation/list', { limit = conversation and 200 or 1 }, function(result)
      local function is_meant(item) return item.conversationId == conversation end
      local item = vim.iter(result.items):find(is_meant) or result.items[1]
      if item and view:exists() and not view.conversation and not view.turn then turn.fill(view, item) end
    end)
  end)
end

--- Closes it; or opens it to write, with the conversation on the screen, the last one of this Neovim, else the last one
--- that there is.
---@param options { new?: boolean, words?: string }
function M.toggle(options)
  local pane = here()
  if pane and not options.new and not options.words then return close(pane) end
  local view, known = View.visible(), true
  if options.new then
    view = View.new()
    view.title = 'a new conversation'
  elseif not view then
    view, known = last_one()
  end
  -- At once, whatever the server does: what is typed next is typed there.
  M.reply(view)
  if options.words then message.add(view, options.words) end
  if not known then fill(view) end
end

--- Opens it again in each tab page where a session had it. A session keeps the windows alone, with empty buffers.
function M.restore()
  local tabs, current = {}, vim.api.nvim_get_current_win()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if vim.startswith(name, 'aside://') and vim.bo[buf].buftype == '' then
      for _, win in ipairs(name:find('/message$') and vim.fn.win_findbuf(buf) or {}) do
        tabs[vim.api.nvim_win_get_tabpage(win)] = true
      end
      vim.api.nvim_buf_delete(buf, { force = true })
    end
  end
  for tab in pairs(tabs) do
    if vim.api.nvim_tabpage_is_valid(tab) then
      vim.api.nvim_set_current_tabpage(tab)
      local conversation = vim.g.aside_conversation
      local view, known = last_one(conversation)
      M.show(view)
      if not known then fill(view, conversation) end
    end
  end
  if vim.api.nvim_win_is_valid(current) then vim.api.nvim_set_current_win(current) end
end

--- Takes away whatever of answers lies over the code: floats beside it, and a pane that floats. Gives back how to show it
--- again.
---@return fun()
function M.clear()
  local again, pane = View.clear(), here()
  if not pane or vim.api.nvim_win_get_config(pane.page).relative == '' then return again end
  local view, win = pane.view, vim.api.nvim_get_current_win()
  close(pane)
  if not vim.api.nvim_win_is_valid(win) then vim.cmd('wincmd p') end
  return function()
    again()
    local code = vim.api.nvim_get_current_win()
    if view:exists() then M.show(view) end
    vim.api.nvim_set_current_win(code)
  end
end

return M

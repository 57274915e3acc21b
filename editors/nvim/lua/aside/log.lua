--- The log in the state folder, and lines for the person. Neither ever waits for a key.
local rows = require('aside.rows')

local M = {
  last = nil, ---@type string? the highlight of what was said last
}

M.path = vim.fs.joinpath(vim.fn.stdpath('log') --[[@as string]], 'aside.log')

--- Secrets are never logged: no message, no answer, no command.
function M.write(text)
  pcall(vim.fn.mkdir, vim.fs.dirname(M.path), 'p')
  pcall(vim.fn.writefile, { os.date('!%Y-%m-%dT%H:%M:%SZ ') .. text }, M.path, 'a')
end

--- A text as one line, cut to a width.
function M.short(text, width)
  local line = vim.trim((text:gsub('%s+', ' '):gsub('%z', '␀')))
  if vim.fn.strdisplaywidth(line) <= width then return line end
  return vim.fn.printf('%.' .. math.max(width - 1, 0) .. 'S…', line)
end

function M.open()
  M.write('the log is looked at')
  -- Below all windows, and not in the column of a pane; what was written last is at its end.
  vim.cmd('botright split ' .. vim.fn.fnameescape(M.path))
  vim.cmd('normal! G')
  vim.bo.readonly = true
end

local namespace = vim.api.nvim_create_namespace('aside.log')
local STAYS = 5000 -- milliseconds
local RULER = 19 -- columns
local later ---@type fun()?
local row ---@type fun()? closes the row with the last message

local function say_what_waits()
  local say = later
  later = nil
  if say then say() end
end

--- Whether a function is Neovim's own, and none that the person or a plugin put in its place.
---@param it any
---@return boolean
function M.is_neovims(it)
  -- A notifier may be a table that can be called.
  if type(it) ~= 'function' then return false end
  -- Neovim 0.12 does not say where its own is from.
  local source = debug.getinfo(it, 'S').source
  local in_runtime = vim.startswith(source, '@' .. vim.env.VIMRUNTIME)
  return in_runtime or vim.startswith(source, '@vim/') or source:match('^=?%?$') ~= nil
end

--- Whether another program shows messages.
local function shown_outside()
  return vim.iter(vim.api.nvim_list_uis()):any(function(ui) return ui.ext_messages end)
end

--- A row above the last one for some seconds, where Neovim has none for messages and would wait for Enter.
local function show_row(text, highlight)
  if row then row() end
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, { text })
  local win = vim.api.nvim_open_win(buf, false, {
    relative = 'editor',
    anchor = 'SW',
    row = vim.o.lines - 1,
    col = 0,
    width = math.min(vim.fn.strdisplaywidth(text), vim.o.columns),
    height = 1,
    style = 'minimal',
    focusable = false,
    noautocmd = true,
    zindex = 200,
  })
  vim.wo[win].winhighlight = 'NormalFloat:' .. (highlight or 'Normal')
  local function close() pcall(vim.api.nvim_win_close, win, true) end
  row = close
  vim.defer_fn(close, STAYS)
end

--- Whether Neovim gives messages to a plugin, which shows them: it says so to nobody, so an empty one is sent.
local function shown_by_plugin()
  local taken = false
  local function told(event) taken = taken or event == 'msg_show' end
  -- This option changes nothing; one has to be true.
  vim.ui_attach(namespace, { ext_wildmenu = true }, told)
  vim.api.nvim_echo({ { ' ' } }, false, {})
  vim.cmd.redraw()
  vim.ui_detach(namespace)
  return taken
end

--- Writes lines over the last message, none of which is longer than the row: of one that is, Neovim would wait for Enter.
---@param lines string[]
---@param kept boolean whether they are in `:messages`
local function echo(lines, highlight, kept)
  for _, line in ipairs(lines) do
    -- The new message replaces the previous one.
    vim.cmd.redraw()
    vim.api.nvim_echo({ { line, highlight } }, kept, {})
  end
end

local LEVELS = { ErrorMsg = vim.log.levels.ERROR, WarningMsg = vim.log.levels.WARN, AsideWaiting = vim.log.levels.WARN }

--- Says something: by `vim.notify` where that shows it, whole; else in the last line. There, two lines or one that is too
--- long would wait for Enter and take keys that were meant for the text. While a command is typed it is said afterwards.
---@param hint? string what follows the text, and is not cut
function M.say(text, highlight, hint)
  M.last, text = highlight, text:gsub('%z', '␀')
  if not M.is_neovims(vim.notify) or shown_outside() then
    -- Of what waits the last one is enough: a plugin that knows `id` shows it in the place of the one before.
    local options = { title = 'Aside', id = highlight == 'AsideWaiting' and 'aside.waiting' or nil }
    return vim.notify(text .. (hint or ''), LEVELS[highlight] or vim.log.levels.INFO, options)
  end
  local mode = vim.api.nvim_get_mode()
  if not mode.blocking and mode.mode:match('^[niv]$') then
    local whole, none = ('Aside: %s%s'):format(text, hint or ''), vim.o.cmdheight == 0
    if none and shown_by_plugin() then return vim.api.nvim_echo({ { whole, highlight } }, true, {}) end
    -- As wide as Neovim shows one without waiting, also where it has no row for it. A float has its ruler there, too.
    local ruler = vim.o.ruler and vim.api.nvim_win_get_config(0).relative ~= ''
    local room = math.max(1, math.min(vim.v.echospace, vim.o.columns - (ruler and RULER or 0)))
    local function cut(width)
      return M.short('Aside: ' .. text, width - vim.fn.strdisplaywidth(hint or '')) .. (hint or '')
    end
    local line = cut(room)
    echo(line ~= whole and rows.words(whole, room) or { line }, highlight, true)
    if line ~= whole then echo({ line }, highlight, false) end
    -- A row that is none is taken back with the next one that is drawn.
    if none then
      vim.cmd.redraw()
      show_row(cut(vim.o.columns), highlight)
    end
    return
  end
  local ends = { pattern = { '*:n', '*:i' }, once = true, callback = vim.schedule_wrap(say_what_waits) }
  if not later then vim.api.nvim_create_autocmd('ModeChanged', ends) end
  later = function() M.say(text, highlight, hint) end
end

--- Takes the ruler of a float off the last row, where Neovim leaves it after the cursor went to a window that has a status
--- line. A message beside it stays.
function M.clear_ruler()
  local is_float = vim.api.nvim_win_get_config(0).relative ~= ''
  if is_float or vim.o.laststatus == 0 or vim.o.cmdheight == 0 or vim.api.nvim_get_mode().mode ~= 'n' then return end
  local left, right = {}, {}
  for column = 1, vim.o.columns do
    table.insert(column > vim.o.columns - RULER and right or left, vim.fn.screenstring(vim.o.lines, column))
  end
  if not table.concat(right):find('^%s*%d+,[%d-]+%s+%S+%s*$') then return end
  local message = vim.trim(table.concat(left))
  local highlight = vim.startswith(message, 'Aside: ') and M.last or nil
  vim.api.nvim_echo({ { message, highlight } }, false, {})
end

---@param hint? string what follows the text, and is not cut
function M.fail(text, hint)
  M.write('error: ' .. text)
  M.say(text, 'ErrorMsg', hint)
end

return M

--- The log in the state folder, and lines for the person. Neither ever waits for a key.
local M = {}

M.path = vim.fs.joinpath(vim.fn.stdpath('log') --[[@as string]], 'aside.log')

--- Secrets are never logged: no message, no answer, no command.
function M.write(text)
  pcall(vim.fn.mkdir, vim.fs.dirname(M.path), 'p')
  pcall(vim.fn.writefile, { os.date('!%Y-%m-%dT%H:%M:%SZ ') .. text }, M.path, 'a')
end

--- A text as one line, cut to a width.
function M.short(text, width)
  local line = vim.trim((text:gsub('%s+', ' ')))
  if vim.fn.strdisplaywidth(line) <= width then return line end
  return vim.fn.printf('%.' .. math.max(width - 1, 0) .. 'S…', line)
end

function M.open()
  M.write('the log is looked at')
  vim.cmd.split(vim.fn.fnameescape(M.path))
  vim.bo.readonly = true
end

local STAYS = 5000 -- milliseconds
local later ---@type fun()?
local row ---@type fun()? closes the row with the last message

local function say_what_waits()
  local say = later
  later = nil
  if say then say() end
end

--- Whether messages are shown by something else than the last line: a function of the person's, or another program.
local function shown_elsewhere()
  local function takes_messages(ui) return ui.ext_messages end
  -- Neovim 0.12 does not say where its own is from.
  local source = debug.getinfo(vim.notify, 'S').source
  local is_neovims = vim.startswith(source, '@vim/') or source:match('^=?%?$') ~= nil
  return not is_neovims or vim.iter(vim.api.nvim_list_uis()):any(takes_messages)
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

local LEVELS = { ErrorMsg = vim.log.levels.ERROR, WarningMsg = vim.log.levels.WARN, AsideWaiting = vim.log.levels.WARN }

--- Says something: by `vim.notify` where that shows it, whole; else in the last line. There, two lines or one that is too
--- long would wait for Enter and take keys that were meant for the text. While a command is typed it is said afterwards.
---@param hint? string what follows the text, and is not cut
function M.say(text, highlight, hint)
  if shown_elsewhere() then
    return vim.notify(text .. (hint or ''), LEVELS[highlight] or vim.log.levels.INFO, { title = 'Aside' })
  end
  local mode = vim.api.nvim_get_mode()
  if not mode.blocking and mode.mode:match('^[niv]$') then
    -- The new message replaces the previous one.
    vim.cmd.redraw()
    local room = (vim.o.cmdheight == 0 and vim.o.columns or vim.v.echospace) - vim.fn.strdisplaywidth(hint or '')
    local line = M.short('Aside: ' .. text, room) .. (hint or '')
    if vim.o.cmdheight == 0 then return show_row(line, highlight) end
    vim.api.nvim_echo({ { line, highlight } }, true, {})
    return
  end
  local ends = { pattern = { '*:n', '*:i' }, once = true, callback = vim.schedule_wrap(say_what_waits) }
  if not later then vim.api.nvim_create_autocmd('ModeChanged', ends) end
  later = function() M.say(text, highlight, hint) end
end

---@param hint? string what follows the text, and is not cut
function M.fail(text, hint)
  M.write('error: ' .. text)
  M.say(text, 'ErrorMsg', hint)
end

return M

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

local later ---@type fun()?

local function say_what_waits()
  local say = later
  later = nil
  if say then say() end
end

--- Says one line below. Two lines, or one that is too long, would wait for Enter and take keys that were meant for the
--- text; so would a line where no row is left for it. While a command is typed it is said afterwards.
---@param hint? string what follows the text, and is not cut
function M.say(text, highlight, hint)
  if vim.o.cmdheight == 0 then return end
  local mode = vim.api.nvim_get_mode()
  if not mode.blocking and mode.mode:match('^[niv]$') then
    -- The new message replaces the previous one.
    vim.cmd.redraw()
    local room = vim.v.echospace - vim.fn.strdisplaywidth(hint or '')
    vim.api.nvim_echo({ { M.short('Aside: ' .. text, room) .. (hint or ''), highlight } }, true, {})
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

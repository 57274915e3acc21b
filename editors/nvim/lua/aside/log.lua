--- The log in the state folder, and lines for the person. Neither ever waits for a key.
local M = {}

M.path = vim.fs.joinpath(vim.fn.stdpath('log') --[[@as string]], 'aside.log')

--- What may be secret never comes here: no message, no answer, no command.
---@param text string
function M.write(text)
  vim.fn.mkdir(vim.fs.dirname(M.path), 'p')
  local file = io.open(M.path, 'a')
  if file then
    file:write(os.date('!%Y-%m-%dT%H:%M:%SZ '), text, '\n')
    file:close()
  end
end

--- The first line of a text, cut to a width.
---@param text string
---@param width integer
---@return string
function M.short(text, width)
  local line = vim.trim((text:gsub('%s+', ' ')))
  if vim.fn.strdisplaywidth(line) <= width then
    return line
  end
  return vim.fn.strcharpart(line, 0, math.max(width - 1, 0)) .. '…'
end

local later ---@type { text: string, highlight: string }?

--- Says one line below. Two lines, or one that is too long, would wait for Enter and take keys that were meant for the
--- text; so would a line where no row is left for it. While a command is typed it is said afterwards.
---@param text string
---@param highlight? string
function M.say(text, highlight)
  local mode = vim.api.nvim_get_mode()
  if vim.o.cmdheight == 0 then
    return
  end
  if mode.blocking or not mode.mode:match('^[niv]$') then
    if not later then
      vim.api.nvim_create_autocmd('ModeChanged', {
        pattern = { '*:n', '*:i' },
        once = true,
        callback = vim.schedule_wrap(function()
          local line = later
          later = nil
          if line then
            M.say(line.text, line.highlight)
          end
        end),
      })
    end
    later = { text = text, highlight = highlight or 'None' }
    return
  end
  -- What was said before is written over, not pushed up.
  vim.cmd.redraw()
  vim.api.nvim_echo({ { M.short('Aside: ' .. text, vim.v.echospace), highlight } }, true, {})
end

---@param text string
function M.fail(text)
  M.write('error: ' .. text)
  M.say(text, 'ErrorMsg')
end

return M

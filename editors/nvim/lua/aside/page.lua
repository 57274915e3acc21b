--- A page with a question, above its answers. One that is too long to stand there is entered and scrolled first.
local config = require('aside.config')

local M = {}

local pages = {} ---@type table<string, { buf: integer, win: integer }>

--- Shows a page in the middle.
---@param id string
---@param title string
---@param lines string[]
---@param options { enter: boolean, footer?: string, height: integer, width?: integer }
---@return integer buf
---@return integer win
function M.show(id, title, lines, options)
  M.close(id)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  vim.bo[buf].modifiable = false
  local width = options.width or 40
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  width = math.min(width + 1, vim.o.columns - 4)
  local win = vim.api.nvim_open_win(buf, options.enter, {
    relative = 'editor',
    row = 1,
    col = math.floor((vim.o.columns - width) / 2) - 1,
    width = width,
    height = math.max(1, math.min(M.rows(lines, width), options.height)),
    border = 'rounded',
    title = (' Aside · %s '):format(title),
    footer = options.footer and (' %s '):format(options.footer) or nil,
    footer_pos = options.footer and 'right' or nil,
    style = 'minimal',
    zindex = 60,
  })
  pages[id] = { buf = buf, win = win }
  local hide = config.get().keys.hide
  if hide then
    vim.keymap.set('n', hide, function()
      M.close(id)
    end, { buffer = buf, nowait = true, desc = 'Aside: hide' })
  end
  return buf, win
end

--- Rows that lines take when they are wrapped.
---@param lines string[]
---@param width integer
function M.rows(lines, width)
  local rows = 0
  for _, line in ipairs(lines) do
    rows = rows + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  return rows
end

--- Shows what is asked, and lets the person answer: at once where all of it is on the screen, else by a key.
---@param id string
---@param title string
---@param lines string[]
---@param choices integer how many there are below
---@param answer fun()
function M.ask(id, title, lines, choices, answer)
  -- Below stand the question again, its answers and a line to type in; around it a border.
  local room = vim.o.lines - vim.o.cmdheight - choices - 5
  local width = vim.o.columns - 4
  if M.rows(lines, width) <= room then
    M.show(id, title, lines, { enter = false, height = room })
    vim.cmd.redraw()
    return answer()
  end
  local key = config.get().keys.choose
  local footer = key and key .. ' answer' or ':Aside answer'
  local buf = M.show(id, title, lines, { enter = true, footer = footer, height = vim.o.lines - 6 })
  if key then
    vim.keymap.set('n', key, answer, { buffer = buf, nowait = true, desc = 'Aside: answer' })
  end
end

---@param id string
function M.close(id)
  local page = pages[id]
  pages[id] = nil
  if page and vim.api.nvim_win_is_valid(page.win) then
    vim.api.nvim_win_close(page.win, true)
  end
end

return M

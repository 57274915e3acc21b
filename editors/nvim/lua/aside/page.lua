--- A page with a question, above its answers. One that is too long to stand there is entered and scrolled first.
local config = require('aside.config')

local M = {}

--- Options of a window without anything that hides or adds.
local PLAIN = {
  statuscolumn = '',
  foldenable = false,
  list = false,
  wrap = true,
  linebreak = false,
  breakindent = false,
  showbreak = '',
  conceallevel = 0,
  scrolloff = 0,
  rightleft = false,
}

local wins = {} ---@type table<string, integer>

--- Rows that lines take when they are wrapped.
local function rows(lines, width)
  local function add(sum, line) return sum + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width)) end
  return vim.iter(lines):fold(0, add)
end

--- Shows a page in the middle.
---@param options { enter: boolean, footer?: string, height: integer, width?: integer, above?: integer, signs?: integer }
---@return integer buf
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
  local signs = options.signs or 0
  width = math.min(width + signs + 1, vim.o.columns - 4)
  wins[id] = vim.api.nvim_open_win(buf, options.enter, {
    relative = 'editor',
    row = 1,
    col = math.floor((vim.o.columns - width) / 2) - 1,
    width = width,
    height = math.max(1, math.min(rows(lines, width - signs) + (options.above or 0), options.height)),
    border = 'rounded',
    title = (' Aside · %s '):format(title),
    footer = options.footer and (' %s '):format(options.footer) or '',
    footer_pos = 'right',
    style = 'minimal',
    -- Below lists of answers, which many show in a float.
    zindex = 45,
  })
  -- What is on a page is what its lines are.
  for name, value in pairs(PLAIN) do
    vim.api.nvim_set_option_value(name, value, { win = wins[id], scope = 'local' })
  end
  vim.wo[wins[id]][0].signcolumn = signs > 0 and 'yes:1' or 'no'
  config.map('hide', buf, function() M.close(id) end)
  return buf
end

--- Shows what is asked, and lets the person answer: at once where all of it is on the screen, else by a key.
---@param choices integer how many there are below
function M.ask(id, title, lines, choices, answer)
  -- Below stand the question again, its answers and a line to type in; around it a border.
  local room = vim.o.lines - vim.o.cmdheight - choices - 5
  if rows(lines, vim.o.columns - 4) <= room then
    M.show(id, title, lines, { enter = false, height = room })
    vim.cmd.redraw()
    return answer()
  end
  local hint = config.hint({ { 'choose', 'answer' } })
  local footer = hint ~= '' and hint or ':Aside answer'
  config.map('choose', M.show(id, title, lines, { enter = true, footer = footer, height = vim.o.lines - 6 }), answer)
end

function M.close(id)
  local win = wins[id]
  wins[id] = nil
  if win and vim.api.nvim_win_is_valid(win) then vim.api.nvim_win_close(win, true) end
end

return M

--- Where the float of an answer stands.
local config = require('aside.config')
local log = require('aside.log')

--- The row of a float in a window where it does not cover the cursor's line: below it, else above.
---@param win integer
---@param row integer where it would stand
---@param height integer with its border
---@return integer
local function beside_cursor(win, row, height)
  local below = vim.api.nvim_win_call(win, vim.fn.winline) --[[@as integer]]
  if below <= row or below > row + height then return row end
  if below + height <= vim.api.nvim_win_get_height(win) then return below end
  return math.max(0, below - 1 - height)
end

--- The place of the float: at the right of the window with the code, level with it. Where it would cover that, it stands
--- below. It takes two fifths of the rows at the most.
---@param self aside.View
---@return vim.api.keyset.win_config
local function place_of(self)
  local options, anchor = config.get(), self.anchor
  local win = anchor and vim.fn.bufwinid(anchor.buf) or -1
  win = win > 0 and win or vim.api.nvim_get_current_win()
  if vim.api.nvim_win_get_config(win).relative ~= '' then win = vim.fn.win_getid(1) end
  local columns, rows = vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win)
  local beside, page = columns >= 90, self:window()
  local width = math.max(20, math.min(options.width, beside and math.floor(columns / 2) or columns - 4))
  local most = math.max(1, math.min(options.height, math.floor(rows * 0.4) - 2))
  local height = math.max(1, math.min(math.max(page and self:rows(page) or 1, 3), most))
  local row = anchor and (beside and anchor.row or anchor.last + 1) - vim.fn.line('w0', win) + 1 or 0
  row = beside_cursor(win, math.max(0, math.min(row, rows - height - 2)), height + 2)
  -- Its keys are those of the text where the cursor is not in it.
  local inside = page ~= nil and vim.api.nvim_get_current_win() == page
  local hint = config.hint({ { 'reply', 'reply' }, { 'pin', 'pin' }, { 'hide', 'hide' } })
  local state = self:state()
  -- What is above its first row is said to be there.
  local above = page ~= nil and vim.fn.line('w0', page) > 1
  local footer = inside and hint or state == self.WAITS and ':Aside answer' or ':Aside goes here'
  return {
    relative = 'win',
    win = win,
    anchor = 'NE',
    row = row,
    col = columns,
    width = width,
    height = height,
    border = 'rounded',
    title = (' %s%s '):format(above and '↑ ' or '', log.short(self.title, width - 6)),
    footer = (' %s%s '):format(state and state .. ' · ' or '', footer),
    footer_pos = 'right',
    zindex = 40,
  }
end

return place_of

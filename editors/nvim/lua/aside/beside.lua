--- What stands beside the lines of an answer: how a tool or a question is, cut so that it and the line have room in the
--- window. The methods are those of `aside.View`.
local log = require('aside.log')
local place_of = require('aside.place')
local rows = require('aside.rows')

local RUNNING = 15 -- columns for what stands beside a line of what runs or waits
local BESIDE = 22 -- columns for what stands beside a tool, at least, where the window is not narrow
local TITLE = 10 -- columns of a line, at least
local FRAMES = { '⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏' }

local namespace = vim.api.nvim_create_namespace('aside.view')

---@class (partial) aside.View
local Beside = {}

--- A line's text, cut so that so many columns are left beside it, where there are as many.
---@param whole string
---@param wanted? integer those of what runs or waits, where none is given
---@return string
function Beside:titled(whole, wanted)
  local beside, width = self:beside()
  wanted = wanted or RUNNING
  return '`' .. log.short(whole, math.max(width - math.min(wanted, beside) - 3, TITLE)) .. '`'
end

---@param line aside.Line
---@return integer
function Beside:row(line) return vim.api.nvim_buf_get_extmark_by_id(self.buf, namespace, line.mark, {})[1] end

--- Replaces the text of a line.
---@param line aside.Line
function Beside:retitle(line, text)
  if line.text == text then return end
  local row, _, about = unpack(vim.api.nvim_buf_get_extmark_by_id(self.buf, namespace, line.mark, { details = true }))
  self:change(function() vim.api.nvim_buf_set_text(self.buf, row, 0, row, #line.text, { text }) end)
  -- The mark went to the end of the text, from where it would go along with what is written next.
  vim.api.nvim_buf_set_extmark(self.buf, namespace, row, 0, { id = line.mark, virt_text = about.virt_text })
  line.text = text
end

--- Fits a line that is over, and what is said beside it, into the window.
---@param line aside.Line
function Beside:lay(line)
  self:retitle(line, self:titled(line.whole, rows.width(line.beside) + 1))
  self:remark(line, line.beside, line.highlight)
end

--- Fits all lines into a window of another width.
function Beside:lay_out()
  local _, width = self:beside()
  if width == self.laid then return end
  self.laid = width
  for _, line in ipairs(self.all_lines) do
    if line.beside then
      self:lay(line)
    else
      self:retitle(line, self:titled(line.whole))
    end
  end
end

--- Columns for what stands beside a line.
---@return integer room
---@return integer width of the window
function Beside:beside()
  local win = self:window()
  local width = win and vim.api.nvim_win_get_width(win) or place_of(self).width --[[@as integer]]
  return math.min(math.max(BESIDE, math.floor(width * 0.4)), math.floor(width / 2)), width
end

--- The columns beside a line: what its text leaves.
---@param line aside.Line
---@return integer
function Beside:room(line)
  local _, width = self:beside()
  return math.max(1, width - rows.width(line.text) - 2)
end

--- Whether all of a text has room beside a line, as its text can be cut.
function Beside:has_room(id, text)
  local line, beside, width = self.lines[id], self:beside()
  local least = line and math.min(rows.width(line.whole), math.max(width - beside - 3, TITLE)) + 2 or 0
  return rows.width(text) <= width - least - 2
end

--- Says beside a line how it is.
---@param line aside.Line
function Beside:remark(line, text, highlight)
  local virtual = { { ' ' .. log.short(text, self:room(line)), highlight } }
  vim.api.nvim_buf_set_extmark(self.buf, namespace, self:row(line), 0, { id = line.mark, virt_text = virtual })
end

--- Asks in the line of a call whether it may run, where there is one.
---@param id string of the question
---@param call string
---@return boolean
function Beside:ask(id, call, text)
  local line = self.lines[call]
  if not line then return false end
  self:line(call, text)
  line.asks, line.waits, self.lines[id] = id, true, line
  return true
end

--- Notes how the question was answered whether a call may run, which counts from now on how long it takes.
---@param id string of the question
---@param text string the answer, and who gave it
---@return boolean whether a call's line asked it
function Beside:decide(id, text)
  local line = self.lines[id]
  if not line or line.asks ~= id then return false end
  line.waits, line.decision, line.started = nil, text, vim.uv.now()
  return true
end

--- How it was answered whether a call may run.
---@return string?
function Beside:decision(call) return (self.lines[call] or {}).decision end

--- A spinner turns beside what runs; where a person is waited for, nothing turns.
function Beside:spin()
  local now, running = vim.uv.now(), vim.tbl_filter(function(line) return line.running end, vim.tbl_values(self.lines))
  local waits = vim.iter(running):any(function(line) return line.waits end)
  for _, line in ipairs(running) do
    local seconds = math.floor((now - line.started) / 1000)
    local frame = FRAMES[math.floor(now / 100) % #FRAMES + 1]
    local text = waits and '…' or frame .. (seconds > 0 and (' %d s'):format(seconds) or '')
    self:remark(line, line.waits and self.WAITS or text, line.waits and 'AsideWaiting' or 'AsideRunning')
  end
end

return Beside

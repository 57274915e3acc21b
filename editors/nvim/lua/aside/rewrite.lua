--- Lines rewritten in one step: what the model answers takes their place, as one undo.
local View = require('aside.view')
local attachments = require('aside.attachments')
local changes = require('aside.changes')
local log = require('aside.log')
local turn = require('aside.turn')

local M = {}

local WHOLE = 3000 -- lines of a file that goes along as a whole

local namespace = vim.api.nvim_create_namespace('aside.rewrite')

--- What the model has to answer.
local SCHEMA = {
  type = 'object',
  properties = { text = { type = 'string', description = 'The lines that take the place of the old ones, whole.' } },
  required = { 'text' },
  additionalProperties = false,
}

--- Puts the new lines in the place of the old ones, if those are as they were.
---@return string? why not
local function replace(buf, mark, old, text)
  if not vim.api.nvim_buf_is_loaded(buf) then return 'the file is not open any more' end
  local at = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, mark, { details = true })
  vim.api.nvim_buf_del_extmark(buf, namespace, mark)
  local first, last = at[1], at[3] and at[3].end_row
  local same = last and vim.deep_equal(vim.api.nvim_buf_get_lines(buf, first, last, false), old)
  if not same then return 'you changed these lines meanwhile' end
  if not vim.bo[buf].modifiable then return "'modifiable' is off" end
  local function all() return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\n') .. '\n' end
  local before = all()
  -- Setting the option ends a step of undo, also while the person types in the buffer.
  vim.bo[buf].undolevels = vim.bo[buf].undolevels
  vim.api.nvim_buf_set_lines(buf, first, last, true, vim.split((text:gsub('\r', ''):gsub('\n$', '')), '\n'))
  vim.bo[buf].undolevels = vim.bo[buf].undolevels
  if vim.api.nvim_buf_get_name(buf) ~= '' then changes.record(vim.uri_from_bufnr(buf), before, all()) end
end

--- Asks for other lines.
---@param first integer
---@param last integer
---@param wish string
function M.run(buf, first, last, wish)
  local old = vim.api.nvim_buf_get_lines(buf, first - 1, last, false)
  local mark = vim.api.nvim_buf_set_extmark(buf, namespace, first - 1, 0, {
    end_row = last,
    hl_group = 'Visual',
    hl_eol = true,
    virt_text = { { ' is being rewritten', 'AsideRunning' } },
  })
  local along, missing = attachments.named(wish, buf)
  table.insert(along, 1, attachments.range(buf, first, last))
  local is_file = along[1].range ~= nil and vim.api.nvim_buf_line_count(buf) <= WHOLE
  if is_file then table.insert(along, 2, { uri = along[1].uri }) end
  local view = View.new()
  view.hidden, view.title = true, 'Rewrite: ' .. wish
  turn.ask({
    message = ('Rewrite: %s\n\nAnswer with what takes the place of the lines that are attached first.'):format(wish),
    attachments = along,
    missing = missing,
    view = view,
    choice = 'none',
    schema = SCHEMA,
    unfit = 'the model gave no lines; yours stay',
    done = function(outcome, structured)
      local why = outcome == 'completed' and replace(buf, mark, old, structured.text) or nil
      pcall(vim.api.nvim_buf_del_extmark, buf, namespace, mark)
      if why then
        view:show()
        log.say(why .. '; they are as they were', 'WarningMsg')
      elseif outcome == 'completed' then
        local elsewhere = vim.api.nvim_get_current_buf() ~= buf
        local name = elsewhere and vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ':t') or nil
        log.say(name and ('rewritten in %s; u there takes it back'):format(name) or 'rewritten; u takes it back')
      end
    end,
  })
end

return M

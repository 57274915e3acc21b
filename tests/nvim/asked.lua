--- What tests of questions stand on: a turn that asks, the person's answers, and what the server was told.
local T = require('harness')

local M = {}

--- A turn in which one question is asked, and the model says what it got.
function M.asks(question)
  return ([=[
[[reply]]
when = { step = 1 }
say = [{ call = "asker", id = "call", arguments = { questions = [%s] } }]
[[reply]]
say = [{ text = "Thanks." }]
]=]):format(question)
end

--- The decisions that the server was sent.
function M.decisions()
  local all = {}
  for _, message in ipairs(T.sent) do
    local decision = message.method == 'aside/prompt/answer' and message.params.answer or message.result
    if message.method:find('^aside/prompt') and decision and (message.params or decision.action ~= 'cancel') then
      all[#all + 1] = decision
    end
  end
  return all
end

--- What the page with the last question said.
function M.shown() return table.concat(T.lines or {}, '\n') end

--- Turns to the one prompt that waits, and answers as said.
function M.answer(...)
  T.choices = { ... }
  T.prompts(1)
  local page = require('aside.page')
  local show = page.show
  page.show = function(id, title, lines, ...)
    T.lines = vim.list_extend({ title }, lines)
    return show(id, title, lines, ...)
  end
  vim.cmd('Aside answer')
  page.show = show
  T.asked()
end

--- Turns to the question, and writes below it.
function M.writes(text, keys)
  T.prompts(1)
  vim.cmd('Aside answer')
  vim.cmd('stopinsert')
  vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.split(text, '\n'))
  T.press('<Esc>' .. (keys or '<CR>'))
end

return M

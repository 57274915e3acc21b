--- What waits for a person. Nothing opens by itself: a prompt that arrives is a mark, a sign and one line below; it is
--- shown when the person turns to it.
local client = require('aside.client')
local config = require('aside.config')
local log = require('aside.log')
local page = require('aside.page')

local M = {}

---@class aside.Prompt : table the prompt as it came, see editors/PROTOCOL.md
---@field reply? fun(answer: table) answers the server's request
---@field sign? { buf: integer, mark: integer }
---@field settling? boolean the server was told what the person decided

local namespace = vim.api.nvim_create_namespace('aside.prompt')
local open = {} ---@type aside.Prompt[] in the order in which they came
local wanted ---@type string? a prompt that the person turned to before its turn was resumed

--- Those that are not decided; what was interrupted, perhaps long ago, comes last.
---@return aside.Prompt[]
function M.open()
  local live, interrupted = {}, {}
  for _, prompt in ipairs(open) do
    local list = prompt.resumable and interrupted or live
    list[#list + 1] = not prompt.settling and prompt or nil
  end
  return vim.list_extend(live, interrupted)
end

---@param prompt aside.Prompt
local function place_sign(prompt)
  local text = config.get().sign
  local buf, row = require('aside.review').place(prompt)
  if not buf then
    local view = require('aside.view').of(prompt.conversationId)
    local anchor = view and view.anchor
    buf, row = anchor and anchor.buf, anchor and anchor.row or 0
  end
  if buf and vim.api.nvim_buf_is_loaded(buf) then
    row = math.min(row, vim.api.nvim_buf_line_count(buf) - 1)
    local mark = vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, { sign_text = text, sign_hl_group = 'AsideSign' })
    prompt.sign = { buf = buf, mark = mark }
  end
end

---@param prompt aside.Prompt
local function add(prompt)
  M.remove(prompt.promptId)
  open[#open + 1] = prompt
  place_sign(prompt)
  require('aside.review').offer(prompt)
  client.emit('AsidePrompt', { promptId = prompt.promptId, kind = prompt.kind, label = prompt.label })
  if wanted == prompt.promptId then
    wanted = nil
    M.answer()
  elseif config.get().notify then
    log.say(('%s: %s — :Aside answer'):format(prompt.label, prompt.text), 'AsideWaiting')
  end
end

---@param id string
---@return aside.Prompt?
function M.remove(id)
  for at, prompt in ipairs(open) do
    if prompt.promptId == id then
      table.remove(open, at)
      if prompt.sign and vim.api.nvim_buf_is_valid(prompt.sign.buf) then
        vim.api.nvim_buf_del_extmark(prompt.sign.buf, namespace, prompt.sign.mark)
      end
      require('aside.review').drop(id)
      page.close(id)
      client.emit('AsidePromptClosed', { promptId = id })
      return prompt
    end
  end
end

--- The request `aside/prompt`. It is answered when the person has decided.
---@param prompt aside.Prompt
---@return table answer
function M.arrive(prompt)
  local waiting = coroutine.running()
  prompt.reply = function(answer)
    prompt.reply = nil
    coroutine.resume(waiting, answer)
  end
  vim.schedule(function()
    add(prompt)
  end)
  return coroutine.yield()
end

---@param id string
function M.dismiss(id)
  local prompt = M.remove(id)
  if prompt and prompt.reply then
    prompt.reply({ action = 'cancel' })
  end
end

--- The server is gone, and with it whom to answer.
function M.abandon()
  for _, prompt in ipairs(vim.list_extend({}, open)) do
    M.remove(prompt.promptId)
  end
end

--- Finds out what waits since before the server was started.
function M.load()
  client.request('aside/prompt/pending', {}, function(result)
    for _, prompt in ipairs(result.prompts) do
      if prompt.resumable then
        add(prompt)
      end
    end
  end)
end

--- A secret goes to the server and nowhere else: while it is sent, nothing is logged.
---@param prompt aside.Prompt
---@param answer table
local function send_secret(prompt, answer)
  local logging = vim.lsp.log
  local level = logging.get_level()
  logging.set_level(vim.log.levels.OFF)
  local reply = prompt.reply
  M.remove(prompt.promptId)
  pcall(reply, answer)
  logging.set_level(level)
end

--- Gives the server a decision. It says whether an answer fits; one that does not is asked for again.
---@param prompt aside.Prompt
---@param answer table
---@param done? fun(settled: boolean)
function M.settle(prompt, answer, done)
  done = done or function() end
  if prompt.answerType.type == 'secret' and answer.action == 'answer' then
    send_secret(prompt, answer)
    return done(true)
  end
  prompt.settling = true
  client.request('aside/prompt/answer', { promptId = prompt.promptId, answer = answer }, function()
    M.dismiss(prompt.promptId)
    done(true)
  end, function(err)
    prompt.settling = nil
    log.fail(err.message)
    if err.code == -32602 then
      M.show(prompt, done)
    else
      M.dismiss(prompt.promptId)
      done(false)
    end
  end)
end

--- Answers of a permission, in words.
local WORDS = {
  once = 'Run once',
  turn = 'Run, and the like for the rest of this turn',
  always = 'Run, always in this folder',
  no = 'No',
}

---@class aside.Choice
---@field text string
---@field answer? table|fun(prompt: aside.Prompt, done: fun(settled: boolean))

---@param prompt aside.Prompt
---@param choices aside.Choice[] those of its type
---@param done fun(settled: boolean)
local function choose(prompt, choices, done)
  if prompt.optional then
    choices[#choices + 1] = { text = 'Leave it out', answer = { action = 'answer', answer = vim.NIL } }
  end
  choices[#choices + 1] = { text = 'Decline, with a note…', answer = M.decline }
  choices[#choices + 1] = { text = 'Skip', answer = { action = 'cancel' } }
  choices[#choices + 1] = { text = 'Later' }
  vim.ui.select(choices, {
    -- All of it is on the page above.
    prompt = log.short(('%s: %s'):format(prompt.label, prompt.text), vim.o.columns - 2) .. ' ',
    kind = 'aside',
    format_item = function(choice)
      return choice.text
    end,
  }, function(choice)
    local answer = choice and choice.answer
    if not answer then
      return done(false)
    elseif type(answer) == 'function' then
      return answer(prompt, done)
    end
    M.settle(prompt, answer, done)
  end)
end

--- Refuses, and says why if the person wants to.
---@param prompt aside.Prompt
---@param done fun(settled: boolean)
function M.decline(prompt, done)
  vim.ui.input({ prompt = 'Why not? (a note for the model, or nothing) ' }, function(note)
    if not note then
      return done(false)
    end
    M.settle(prompt, { action = 'decline', note = note ~= '' and note or nil }, done)
  end)
end

local function given(value, remember)
  return { action = 'answer', answer = value, remember = remember }
end

--- What is typed, as the type wants it. The server says what does not fit. Who types nothing may decline.
---@param prompt aside.Prompt
---@param convert fun(text: string): any
---@param done fun(settled: boolean)
local function type_in(prompt, convert, done)
  local label = ('%s: %s%s '):format(prompt.label, prompt.text, M.bounds(prompt.answerType))
  local function typed(text)
    if text then
      return M.settle(prompt, given(convert(text)), done)
    end
    local again = {
      text = 'Write an answer',
      answer = function()
        type_in(prompt, convert, done)
      end,
    }
    choose(prompt, { again }, done)
  end
  if prompt.answerType.type ~= 'secret' then
    local default = prompt.default ~= nil and tostring(prompt.default) or nil
    return vim.ui.input({ prompt = label, default = default }, typed)
  end
  vim.fn.inputsave()
  local ok, secret = pcall(vim.fn.inputsecret, label)
  vim.fn.inputrestore()
  typed(ok and secret ~= '' and secret or nil)
end

--- What an answer has to be, in brackets.
---@param wanted_type table
---@return string
function M.bounds(wanted_type)
  local parts = {}
  if wanted_type.type == 'number' then
    parts[1] = wanted_type.integer and 'a whole number' or 'a number'
  end
  parts[#parts + 1] = wanted_type.format
  if wanted_type.minimum then
    parts[#parts + 1] = 'at least ' .. wanted_type.minimum
  end
  if wanted_type.maximum then
    parts[#parts + 1] = 'at most ' .. wanted_type.maximum
  end
  return #parts > 0 and (' (%s)'):format(table.concat(parts, ', ')) or ''
end

--- How each type is asked.
---@type table<string, fun(prompt: aside.Prompt, done: fun(settled: boolean))>
local widgets = {
  boolean = function(prompt, done)
    local choices = { { text = 'Yes', answer = given(true) }, { text = 'No', answer = given(false) } }
    if prompt.remember then
      choices[3] = { text = 'Yes, for the rest of this turn', answer = given(true, true) }
      choices[4] = { text = 'No, for the rest of this turn', answer = given(false, true) }
    end
    choose(prompt, choices, done)
  end,
  select = function(prompt, done)
    local choices = {}
    for _, option in ipairs(prompt.answerType.options) do
      local text = prompt.kind == 'runTool' and WORDS[option] or option
      choices[#choices + 1] = { text = text, answer = given(option) }
      if prompt.remember then
        choices[#choices + 1] = { text = text .. ', for the rest of this turn', answer = given(option, true) }
      end
    end
    choose(prompt, choices, done)
  end,
  multi_select = function(prompt, done)
    local picked = {}
    for _, option in ipairs(prompt.default or {}) do
      picked[option] = true
    end
    local function again()
      local choices, chosen = {}, {}
      for _, option in ipairs(prompt.answerType.options) do
        choices[#choices + 1] = {
          text = (picked[option] and '[x] ' or '[ ] ') .. option,
          answer = function()
            picked[option] = not picked[option]
            again()
          end,
        }
        chosen[#chosen + 1] = picked[option] and option or nil
      end
      choices[#choices + 1] = { text = 'That is all', answer = given(chosen) }
      choose(prompt, choices, done)
    end
    again()
  end,
  number = function(prompt, done)
    type_in(prompt, function(text)
      return tonumber(text) or text
    end, done)
  end,
  text = function(prompt, done)
    type_in(prompt, function(text)
      return text
    end, done)
  end,
}
widgets.secret = widgets.text

--- All there is to know before one answers.
---@param prompt aside.Prompt
---@return string[]
function M.lines(prompt)
  local lines = {}
  local function put(text)
    vim.list_extend(lines, vim.split((text:gsub('\n+$', '')), '\n'))
  end
  local tool = prompt.tool.server and ('%s of %s'):format(prompt.tool.name, prompt.tool.server) or prompt.tool.name
  put(tool == prompt.label and prompt.label or ('%s (%s)'):format(prompt.label, tool))
  if prompt.context then
    put('\n' .. prompt.context)
  end
  local preview = prompt.preview or {}
  -- The text of a command's prompt is the command once more, cut.
  if preview.kind ~= 'command' then
    put('\n' .. prompt.text .. M.bounds(prompt.answerType))
  end
  if preview.text then
    put('\n' .. preview.text)
  end
  if preview.cwd then
    put('in ' .. preview.cwd)
  end
  return lines
end

--- Shows one prompt to the person.
---@param prompt aside.Prompt
---@param done? fun(settled: boolean)
function M.show(prompt, done)
  done = done or function() end
  if prompt.resumable then
    wanted = prompt.promptId
    return require('aside.turn').resume(prompt.conversationId)
  end
  if prompt.preview and prompt.preview.kind == 'diff' then
    return require('aside.review').start(prompt, done)
  end
  local title = ('%d of %d'):format(prompt.position.n, prompt.position.of)
  local choices = #(prompt.answerType.options or {}) * (prompt.remember and 2 or 1) + 5
  page.ask(prompt.promptId, title, M.lines(prompt), choices, function()
    widgets[prompt.answerType.type](prompt, function(settled)
      page.close(prompt.promptId)
      done(settled)
    end)
  end)
end

--- Turns to what waits: the prompts that are open now, one after another, until one is left for later.
function M.answer()
  client.ready(function()
    local queue = M.open()
    if #queue == 0 then
      return log.say('nothing waits for an answer')
    end
    require('aside.review').list(queue)
    local function following()
      local prompt = table.remove(queue, 1)
      while prompt and not vim.tbl_contains(open, prompt) do
        prompt = table.remove(queue, 1)
      end
      if prompt then
        M.show(prompt, function(settled)
          if settled then
            vim.schedule(following)
          end
        end)
      end
    end
    following()
  end)
end

return M

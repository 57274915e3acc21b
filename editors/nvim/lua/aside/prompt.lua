--- Prompts that wait for a person. None opens by itself: a prompt that arrives is a mark, a sign and one line below. It is
--- shown when the person turns to it.
local client = require('aside.client')
local config = require('aside.config')
local log = require('aside.log')
local page = require('aside.page')
local select = require('aside.select')
local tools = require('aside.tools')

local M = {}

--- The prompt as it came, see editors/PROTOCOL.md.
---@class aside.Prompt : table
---@field reply? fun(answer: table) answers the server's request
---@field sign? { buf: integer, mark: integer }
---@field came? integer how many had come with it
---@field settling? boolean whether the server was told what the person decided

--- Called when the person is done with a prompt, or leaves it for later. The server answers the prompts that `answered`
--- selects.
---@alias aside.Done fun(settled: boolean, answered?: fun(prompt: aside.Prompt): boolean)

local namespace = vim.api.nvim_create_namespace('aside.prompt')
local open = {} ---@type aside.Prompt[] as they came
local arrivals = 0 -- prompts that came so far
local widgets ---@type table<string, fun(prompt: aside.Prompt, done: aside.Done)> how each type is asked
local interruption_said = false -- whether the person knows of turns that were interrupted
local arriving = {} ---@type table<string, aside.Prompt> those that are shown in a moment
local forgotten = {} ---@type table<string, true> conversations of which nothing is said until they are asked in again
local drafts = {} ---@type table<string, string> what was written of answers, by prompt
local turned_to ---@type aside.Prompt? the prompt that the person turned to last
local typed = false -- whether a key was typed since the person last decided something

--- Notes from now on whether a key is typed.
local function watch_keys()
  typed = false
  vim.on_key(function(_, key)
    if key ~= '' then
      typed = true
      vim.on_key(nil, namespace)
    end
  end, namespace)
end

--- The prompts without a decision. Prompts of interrupted turns come last.
---@return aside.Prompt[]
function M.open()
  local first, last = {}, {}
  for _, prompt in ipairs(open) do
    if not prompt.settling then table.insert(prompt.resumable and last or first, prompt) end
  end
  return vim.list_extend(first, last)
end

--- Places the sign of a prompt at its change, or else where its turn was asked.
local function place_sign(prompt)
  local buf, row = require('aside.review').place(prompt)
  local view = not buf and require('aside.view').of(prompt.conversationId)
  if view and view.anchor then
    buf, row = view.anchor.buf, view.anchor.row
  end
  if not buf or not vim.api.nvim_buf_is_loaded(buf) then return end
  row = math.min(row, vim.api.nvim_buf_line_count(buf) - 1)
  local options = { sign_text = config.get().sign, sign_hl_group = 'AsideSign' }
  prompt.sign = { buf = buf, mark = vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, options) }
end

--- Says that something waits, and how to turn to it.
local function tell(prompt) log.say(('%s: %s'):format(prompt.label, prompt.text), 'AsideWaiting', ' — :Aside answer') end

local function add(prompt)
  M.remove(prompt.promptId)
  arrivals = arrivals + 1
  prompt.came = arrivals
  open[#open + 1] = prompt
  place_sign(prompt)
  require('aside.review').offer(prompt)
  client.emit('AsidePrompt', { promptId = prompt.promptId, kind = prompt.kind, label = prompt.label })
  local speaks = config.get().notify and not forgotten[prompt.conversationId]
  if speaks and not prompt.resumable then tell(prompt) end
end

--- Something is asked in a conversation.
function M.remember(conversation) forgotten[conversation or ''] = nil end

function M.remove(id)
  local prompt = vim.iter(open):find(function(other) return other.promptId == id end)
  if not prompt then return end
  open = vim.tbl_filter(function(other) return other ~= prompt end, open)
  if prompt.sign and vim.api.nvim_buf_is_valid(prompt.sign.buf) then
    vim.api.nvim_buf_del_extmark(prompt.sign.buf, namespace, prompt.sign.mark)
  end
  require('aside.review').drop(id)
  page.close(id)
  client.emit('AsidePromptClosed', { promptId = id })
  return prompt
end

local function given(value, remember) return { action = 'answer', answer = value, remember = remember } end

--- The request `aside/prompt`. It is answered when the person has decided.
---@param prompt aside.Prompt
function M.arrive(prompt)
  local kind = prompt.answerType.type
  if not widgets[kind] then return nil, { code = -32602, message = 'answerType.type: nobody knows ' .. kind } end
  local waiting = coroutine.running()
  prompt.reply = function(answer)
    prompt.reply = nil
    coroutine.resume(waiting, answer)
  end
  arriving[prompt.promptId] = prompt
  vim.schedule(function()
    if arriving[prompt.promptId] ~= prompt then return end
    arriving[prompt.promptId] = nil
    add(prompt)
  end)
  return coroutine.yield()
end

function M.dismiss(id)
  -- One that is taken back at once was not shown yet.
  local prompt = M.remove(id) or arriving[id]
  arriving[id] = nil
  if prompt and prompt.reply then prompt.reply({ action = 'cancel' }) end
end

--- An interrupted turn is dropped, and with it what it asked: nothing is said of it any more.
function M.forget(conversation)
  forgotten[conversation] = true
  for _, prompt in ipairs(open) do
    if prompt.resumable and prompt.conversationId == conversation then M.remove(prompt.promptId) end
  end
end

--- The server is gone, and with it whom to answer.
function M.abandon()
  interruption_said = true -- by the end of the turns
  vim.iter(open):each(function(prompt) M.remove(prompt.promptId) end)
end

--- Finds out what waits since before the server was started.
function M.load()
  client.request('aside/prompt/pending', {}, function(result)
    vim.iter(result.prompts):filter(function(prompt) return prompt.resumable end):each(add)
    -- What is said of an error stays.
    local speaks = config.get().notify and not interruption_said and log.last ~= 'ErrorMsg'
    if speaks and #result.prompts > 0 and #M.open() == #result.prompts then
      interruption_said = true
      log.say('what was interrupted waits for you', 'WarningMsg', ' — :Aside resume')
    end
  end)
end

--- A secret goes to the server and nowhere else: while it is sent, nothing is logged.
local function send_secret(prompt, answer)
  local logging, reply = vim.lsp.log, assert(prompt.reply)
  local level = logging.get_level()
  logging.set_level(vim.log.levels.OFF)
  M.remove(prompt.promptId)
  pcall(reply, answer)
  logging.set_level(level)
end

--- Gives the server a decision. It says whether an answer fits; one that does not is asked for again.
function M.settle(prompt, answer, done)
  if prompt.settling or not vim.tbl_contains(open, prompt) then
    local again = vim.iter(open):any(function(other) return other ~= prompt and other.promptId == prompt.promptId end)
    local told = again and 'the server ended meanwhile; :Aside resume asks this again' or 'this waits no more'
    log.say(told, 'WarningMsg')
    return done(false)
  end
  if prompt.answerType.type == 'secret' and answer.action == 'answer' then
    send_secret(prompt, answer)
    return done(true)
  end
  prompt.settling = true
  watch_keys()
  client.request('aside/prompt/answer', { promptId = prompt.promptId, answer = answer }, function()
    M.dismiss(prompt.promptId)
    done(true)
  end, function(err)
    prompt.settling = nil
    -- The answer right before may have settled this prompt too.
    local settled = err.code == -32012
    -- The name of the parameter is no word for people.
    local why = err.message:gsub('^answer: ', ''):gsub('%.$', '')
    if not settled then log.fail(why, err.code == -32602 and ' — :Aside answer' or nil) end
    if err.code == -32602 then return done(false) end
    M.dismiss(prompt.promptId)
    done(settled)
  end)
end

--- Asks for a line, of which nothing stays on the last row.
---@param options { prompt: string, default?: string }
---@param got fun(text?: string): any
local function input(options, got)
  vim.ui.input(options, function(text)
    if log.is_neovims(vim.ui.input) then vim.api.nvim_echo({ { '' } }, false, {}) end
    got(text)
  end)
end

--- Refuses, and says why if the person wants to.
function M.decline(prompt, done)
  input({ prompt = 'Why not? (a note for the model, or nothing) ' }, function(note)
    if not note then return done(false) end
    M.settle(prompt, { action = 'decline', note = note ~= '' and note or nil }, done)
  end)
end

---@class aside.Choice
---@field text string
---@field answer? table|fun(prompt: aside.Prompt, done: aside.Done)

---@param choices aside.Choice[] those of its type
---@param done aside.Done
---@param at? integer the one on which the cursor is, where that is not the first
local function choose(prompt, choices, done, at)
  vim.list_extend(choices, prompt.optional and { { text = 'Leave it out', answer = given(vim.NIL) } } or {})
  -- Whether something may run is answered by no.
  local is_run = prompt.kind == 'runTool'
  choices[#choices + 1] = { text = is_run and 'No, with a note…' or 'Decline, with a note…', answer = M.decline }
  local skip = { text = 'Skip: the model goes on without an answer', answer = { action = 'cancel' } }
  choices[#choices + 1] = not is_run and skip or nil
  choices[#choices + 1] = { text = 'Later: it goes on waiting' }
  select(choices, {
    -- All of it is on the page above.
    prompt = log.short(('%s: %s'):format(prompt.label, prompt.text), vim.o.columns - 2) .. ' ',
    kind = 'aside',
    format_item = function(choice) return choice.text end,
    page = is_run and prompt.promptId or nil,
    at = at,
  }, function(choice)
    local answer = choice and choice.answer
    if not answer then return done(false) end
    local act = type(answer) == 'function' and answer or function() M.settle(prompt, answer, done) end
    act(prompt, done)
  end)
end

--- How many of several there have to be, in words.
---@return string?
local function how_many(least, most)
  if least and most then
    return least == most and ('%d of them'):format(least) or ('%d to %d of them'):format(least, most)
  end
  return least and ('at least %d of them'):format(least) or most and ('at most %d of them'):format(most) or nil
end

--- The expected number or text, or how many are to be picked, in brackets.
local function bounds(prompt)
  local expected = prompt.expects or how_many(prompt.answerType.minimum, prompt.answerType.maximum)
  return expected and (' (%s)'):format(expected) or ''
end

--- Asks for a typed answer. The server rejects one that does not fit. A person who types nothing may decline.
local function type_in(prompt, done)
  local kind, default = prompt.answerType.type, prompt.default
  -- All of it is on the page above, which a message of several lines would take the place of.
  local label = log.short(('%s: %s%s'):format(prompt.label, prompt.text, bounds(prompt)), vim.o.columns - 20) .. ' '
  local function got(text)
    if text then return M.settle(prompt, given(kind == 'number' and tonumber(text) or text), done) end
    choose(prompt, { { text = 'Write an answer', answer = type_in } }, done)
  end
  if kind ~= 'secret' then
    return input({ prompt = label, default = default ~= nil and tostring(default) or nil }, got)
  end
  vim.fn.inputsave()
  local ok, secret = pcall(vim.fn.inputsecret, label)
  vim.fn.inputrestore()
  vim.api.nvim_echo({ { '' } }, false, {})
  got(ok and secret ~= '' and secret or nil)
end

--- Lets the person write a text, of several lines where it is a free one.
local function write_in(prompt, done)
  if prompt.answerType.format then return type_in(prompt, done) end
  local id = prompt.promptId
  local function keep(text) drafts[id] = text end
  page.write(id, drafts[id] or prompt.default or '', {
    send = function(text)
      keep(text)
      M.settle(prompt, given(text), function(settled, ...)
        if settled then keep(nil) end
        done(settled, ...)
      end)
    end,
    other = function() choose(prompt, {}, done) end,
    left = function(draft)
      keep(draft)
      done(false)
    end,
  })
end

local YES_NO = { true, false }

--- Answers of a permission, in words.
local WORDS = {
  once = 'Run once',
  turn = 'Run, and exactly this again in this turn',
  always = 'Run, and exactly this always, in this folder',
  no = 'No',
}

--- The answer for the turn, where it permits more than the same call.
local PERMITS = { edits = 'Run, and all other edits of this turn' }

--- Runs this call, and lets the configuration allow the editor's tools from now on. The server then answers the other
--- prompts about them, so the person is not asked these.
local function allow_tools(prompt, done)
  local lasts = vim.tbl_contains(prompt.answerType.options, 'always')
  M.settle(prompt, given(lasts and 'always' or 'once'), function(settled)
    tools.allow()
    done(settled, tools.is_own)
  end)
end

--- One of several, or yes or no.
local function pick_one(prompt, done)
  local choices, options = {}, vim.list_slice(prompt.answerType.options or YES_NO)
  -- The default comes first.
  local function is_default(option) return option == prompt.default end
  local others = vim.tbl_filter(function(option) return not is_default(option) end, options)
  for _, option in ipairs(vim.list_extend(vim.tbl_filter(is_default, options), others)) do
    local text = option == true and 'Yes' or option or 'No'
    text = prompt.kind == 'runTool' and (option == 'turn' and PERMITS[prompt.turnPermits] or WORDS[text]) or text
    text = text .. (is_default(option) and ' (the default)' or '')
    choices[#choices + 1] = { text = text, answer = given(option) }
    local lasting = { text = text .. ', for the rest of this turn', answer = given(option, true) }
    choices[#choices + 1] = prompt.remember and lasting or nil
  end
  local all = { text = "Run, and always all of Neovim's that only read: " .. tools.names(), answer = allow_tools }
  -- Before the answers that refuse.
  if tools.is_own(prompt) then table.insert(choices, #choices, all) end
  choose(prompt, choices, done)
end

--- Any of several: each choice turns one of them over, until that is all.
local function pick_many(prompt, done)
  local options, picked = prompt.answerType.options, {}
  for _, option in ipairs(prompt.default or {}) do
    picked[option] = true
  end
  local least, most = prompt.answerType.minimum, prompt.answerType.maximum
  local function again(at)
    local choices = {}
    for number, option in ipairs(options) do
      local function turn_over()
        picked[option] = not picked[option]
        again(number)
      end
      choices[number] = { text = (picked[option] and '[x] ' or '[ ] ') .. option, answer = turn_over }
    end
    local all = vim.tbl_filter(function(option) return picked[option] end, options)
    local fits = #all >= (least or 0) and #all <= (most or #all)
    local function refuse()
      log.say(('%d are picked; pick %s'):format(#all, how_many(least, most)), 'WarningMsg')
      again(#options + 1)
    end
    choices[#choices + 1] = { text = 'That is all', answer = fits and given(all) or refuse }
    choose(prompt, choices, done, at)
  end
  again()
end

widgets = {
  select = pick_one,
  boolean = pick_one,
  multi_select = pick_many,
  number = type_in,
  text = write_in,
  secret = type_in,
}

--- The conversation that asks, in words, where it may be taken for another one: it is not on the screen, or others ask.
---@param prompt aside.Prompt
---@return string
function M.origin(prompt)
  local View = require('aside.view')
  local view = View.of(prompt.conversationId)
  local function is_elsewhere(other) return not other.resumable and other.conversationId ~= prompt.conversationId end
  if not view or View.visible() == view and not vim.iter(M.open()):any(is_elsewhere) then return '' end
  return (' · in “%s”'):format(log.short(view.title, 60))
end

--- All there is to know before one answers.
local function lines_of(prompt)
  local tool, preview = prompt.tool.name, prompt.preview or {}
  if prompt.tool.server then tool = ('%s of %s'):format(tool, prompt.tool.server) end
  local parts = { tool == prompt.label and tool or ('%s (%s)'):format(prompt.label, tool) }
  parts[1] = parts[1] .. M.origin(prompt)
  local runs = prompt.kind == 'runTool'
  -- The answers say that these tools only read. What is said of a call is in sentences; that of a question may be code.
  local context = prompt.context and not tools.is_own(prompt) and prompt.context or nil
  if context and runs then context = vim.iter(vim.split(context, '\n')):map(page.sentence):flatten():join('\n') end
  parts[2] = context and not runs and '\n' .. context or nil
  -- The text of a command's prompt is the command once more, cut.
  local asked = table.concat(page.sentence(prompt.text .. bounds(prompt)), '\n')
  parts[#parts + 1] = preview.kind ~= 'command' and '\n' .. asked or nil
  parts[#parts + 1] = preview.text and '\n' .. preview.text
  parts[#parts + 1] = preview.cwd and 'in ' .. preview.cwd
  parts[#parts + 1] = context and runs and '\n' .. context or nil
  return vim.split(table.concat(vim.tbl_map(function(part) return (part:gsub('\n+$', '')) end, parts), '\n'), '\n')
end

--- Shows one prompt to the person.
function M.show(prompt, done)
  page.close_others(prompt.promptId)
  if require('aside.review').is_change(prompt) then return require('aside.review').start(prompt, done) end
  local live = vim.tbl_filter(function(other) return not other.resumable end, M.open())
  -- Those that came before it, wherever they are in the queue by now.
  local before = vim.tbl_filter(function(other) return other.came < prompt.came end, live)
  local title = ('%d of %d'):format(#before + 1, math.max(#live, 1))
  local choices = #(prompt.answerType.options or YES_NO) * (prompt.remember and 2 or 1) + 5
  page.ask(prompt.promptId, title, lines_of(prompt), choices, function()
    widgets[prompt.answerType.type](prompt, function(...)
      page.close(prompt.promptId)
      done(...)
    end)
  end)
end

--- What waits without an answer. Where nothing does, lists the turns that were interrupted and ask again.
---@param act fun(queue: aside.Prompt[])
local function with_queue(act)
  client.ready(function()
    local all = M.open()
    local queue = vim.tbl_filter(function(prompt) return not prompt.resumable end, all)
    if #queue > 0 then return act(queue) end
    if #all > 0 then return require('aside.turn').offer_to_resume() end
    -- Also what a server that has just started told nobody yet.
    client.request('aside/prompt/pending', {}, function(result)
      if #result.prompts > 0 then return require('aside.turn').offer_to_resume() end
      log.say('nothing waits for an answer')
    end)
  end)
end

--- Turns to the first of some prompts. When it is decided, the next change of those follows by itself, unless something
--- was typed since; whatever takes keys waits to be asked for.
---@param queue aside.Prompt[]
local function go_through(queue)
  require('aside.review').list(queue)
  local follow
  local function show(prompt)
    -- Next time the others come first, whether this one is hidden, left for later or only looked at.
    open = vim.list_extend(vim.tbl_filter(function(other) return other ~= prompt end, open), { prompt })
    turned_to = prompt
    M.show(prompt, function(settled, answered)
      if settled then vim.schedule(function() follow(prompt, answered) end) end
    end)
  end
  function follow(decided, answered)
    queue = vim.tbl_filter(function(prompt)
      local answers_itself = prompt == decided or answered and answered(prompt)
      return not answers_itself and not prompt.settling and vim.tbl_contains(open, prompt)
    end, queue)
    local change = vim.iter(queue):find(require('aside.review').is_change)
    if change and not typed then return show(change) end
    if queue[1] then tell(queue[1]) end
  end
  show(queue[1])
end

--- The prompts, with this one first.
---@param first aside.Prompt
---@param queue aside.Prompt[]
local function before_others(first, queue)
  return vim.list_extend({ first }, vim.tbl_filter(function(prompt) return prompt ~= first end, queue))
end

--- Turns to what waits: the first prompt that is open now, or the first that is marked in the text under the cursor, unless
--- that one was shown last.
function M.answer()
  with_queue(function(queue)
    local here = vim.api.nvim_get_current_buf()
    local first = vim.iter(queue):find(function(prompt) return prompt.sign and prompt.sign.buf == here end)
    if not first or first == turned_to then return go_through(queue) end
    go_through(before_others(first, queue))
  end)
end

--- A prompt in a line, with the conversation that it belongs to.
---@param prompt aside.Prompt
local function in_a_line(prompt)
  local view = require('aside.view').of(prompt.conversationId)
  local title = view and (' · in “%s”'):format(log.short(view.title, 40)) or ''
  return log.short(('%s: %s'):format(prompt.label, prompt.text), 80) .. title
end

--- Lists what waits, and turns to what the person picks of it.
function M.pick()
  with_queue(function(queue)
    select(queue, { prompt = 'Answer: ', kind = 'aside', format_item = in_a_line }, function(picked)
      if not picked then return end
      go_through(before_others(picked, queue))
    end)
  end)
end

return M

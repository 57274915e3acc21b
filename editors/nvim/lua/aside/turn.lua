--- Turns: starts them, shows what comes of them.
local View = require('aside.view')
local client = require('aside.client')
local log = require('aside.log')

local M = {
  --- What the next turns are started with; set by `:Aside model` and `:Aside mode`.
  ---@type { model?: string, mode?: string }
  choice = {},
}

---@class aside.Turn
---@field id string
---@field conversation? string
---@field view aside.View
---@field running boolean
---@field tools table<string, boolean> calls that printed something

local turns = {} ---@type table<string, aside.Turn>
local latest ---@type aside.Turn?
local made = 0

---@param view aside.View
---@param id string
---@param conversation? string
---@return aside.Turn
local function remember(view, id, conversation)
  local turn = { id = id, conversation = conversation, view = view, running = true, tools = {} }
  turns[id], latest = turn, turn
  view:tick(true)
  client.emit('AsideTurnStarted', { turnId = id, conversationId = conversation })
  return turn
end

--- The turn that runs in the answer on the screen, else any that runs.
---@return aside.Turn?
function M.running()
  local visible, found = View.visible(), nil
  for _, turn in pairs(turns) do
    if turn.running and (not found or turn.view == visible) then
      found = turn
    end
  end
  return found
end

--- The view that a turn is shown in; a conversation that began elsewhere gets one.
---@param conversation string
---@return aside.View
local function view_of(conversation)
  local view = View.of(conversation)
  if not view then
    view = View.new()
    view.conversation = conversation
  end
  return view
end

---@class aside.Ask
---@field message string
---@field attachments? table[]
---@field anchor? { buf: integer, row: integer }
---@field new? boolean begin another conversation

--- Starts a turn; or steers the one that runs.
---@param ask aside.Ask
function M.ask(ask)
  local root = client.root(ask.anchor and ask.anchor.buf or vim.api.nvim_get_current_buf())
  client.ready(function()
    local running = M.running()
    if running and not ask.new then
      return M.steer(ask.message .. require('aside.attachments').as_text(ask.attachments))
    end
    local view = not ask.new and View.visible() or View.new(ask.anchor)
    view.anchor = ask.anchor or view.anchor
    if not view.conversation then
      view.title = ask.message
    end
    view:said(ask.message)
    view:show()
    made = made + 1
    local turn = remember(view, ('nvim-%d-%x-%d'):format(vim.uv.os_getpid(), os.time(), made), view.conversation)
    local params = {
      message = ask.message,
      attachments = ask.attachments,
      conversationId = view.conversation,
      turnId = turn.id,
      model = M.choice.model,
      mode = M.choice.mode,
      root = vim.uri_from_fname(root),
    }
    client.request('aside/turn/start', params, function(result)
      turn.conversation, view.conversation = result.conversationId, result.conversationId
    end, function(err)
      view:note(err.message)
      M.over(turn, 'failed')
      log.fail(err.message)
    end)
  end)
end

--- Adds to the turn that runs.
---@param message string
function M.steer(message)
  local turn = M.running()
  if not turn then
    return log.say('no turn runs; :Aside ask starts one', 'WarningMsg')
  end
  client.request('aside/turn/steer', { turnId = turn.id, message = message })
end

function M.cancel()
  local turn = M.running()
  if not turn then
    return log.say('no turn runs', 'WarningMsg')
  end
  client.request('aside/turn/cancel', { turnId = turn.id })
end

--- Takes back what the last turn changed in files.
function M.undo()
  if not latest then
    return log.say('no turn was started here; its files are as they were', 'WarningMsg')
  end
  client.request('aside/turn/undo', { turnId = latest.id }, function(result)
    local names = vim.tbl_map(function(uri)
      return vim.fn.fnamemodify(vim.uri_to_fname(uri), ':~:.')
    end, result.files)
    local what = #names > 0 and 'put back ' .. table.concat(names, ', ') or 'the turn changed no file'
    log.say(what .. (result.untracked and '; what its commands changed is not known' or ''))
    vim.cmd('silent! checktime')
  end)
end

--- Goes on with the interrupted turn of a conversation, or with the newest that there is.
---@param conversation? string
function M.resume(conversation)
  client.ready(function()
    if not conversation then
      return client.request('aside/conversation/list', { limit = 50 }, function(result)
        for _, item in ipairs(result.items) do
          if item.status == 'interrupted' then
            return M.resume(item.conversationId)
          end
        end
        log.say('no turn was interrupted', 'WarningMsg')
      end)
    end
    client.request('aside/turn/resume', { conversationId = conversation }, function(result)
      local view = view_of(conversation)
      view:show()
      local turn = turns[result.turnId]
      if turn then
        turn.running = true
        view:tick(true)
      else
        remember(view, result.turnId, conversation)
      end
    end)
  end)
end

---@param turn aside.Turn
---@param outcome string
function M.over(turn, outcome)
  turn.running = false
  local view = turn.view
  for id, line in pairs(view.lines) do
    if line.running then
      view:finish(id, outcome)
    end
  end
  view:tick(false)
  client.emit('AsideTurnEnded', { turnId = turn.id, conversationId = turn.conversation, outcome = outcome })
end

--- The server is gone: nothing more comes.
---@param why string
function M.abandon(why)
  for _, turn in pairs(turns) do
    if turn.running then
      turn.view:note(why .. ' :Aside resume goes on.')
      M.over(turn, 'interrupted')
    end
  end
end

local SIGNS = { ok = '✓', error = '✗', cancelled = 'cancelled', denied = 'denied' }

--- What a call is about, in a few words.
---@param call { name: string, title: string, arguments: table }
---@return string
local function about(call)
  local given = call.arguments
  for _, name in ipairs({ 'command', 'path', 'pattern', 'question', 'url' }) do
    if type(given[name]) == 'string' then
      return given[name]
    end
  end
  return call.title ~= call.name and call.title or next(given) and vim.json.encode(given) or ''
end

--- How each kind of update is shown; one that is not here is not.
---@type table<string, fun(view: aside.View, update: table, turn: aside.Turn)>
local kinds = {
  text = function(view, update)
    view:piece('text', update.step, update.text)
  end,
  reasoning = function(view, update)
    view:piece('reasoning', update.step, update.text)
  end,
  toolCall = function(view, update)
    view:line(update.callId, ('%s %s'):format(update.name, about(update)))
  end,
  toolOutput = function(view, update, turn)
    turn.tools[update.callId] = true
    view:output(update.callId, update.text)
  end,
  toolResult = function(view, update, turn)
    local summary = vim.split(vim.trim(update.summary or ''), '\n')
    if update.diff or #summary > 1 and not turn.tools[update.callId] then
      view:output(update.callId, (update.diff or update.summary):gsub('\n*$', '\n'))
    end
    local bad = update.status ~= 'ok'
    view:finish(
      update.callId,
      SIGNS[update.status] .. ' ' .. log.short(summary[1], 60),
      bad and 'DiagnosticError' or nil
    )
  end,
  question = function(view, update)
    if update.outcome then
      local said = update.answer ~= nil and vim.json.encode(update.answer) or update.reason or ''
      local by = update.by and update.by ~= 'user' and ' by ' .. update.by or ''
      view:finish(update.promptId, ('%s%s'):format(said ~= '' and said or update.outcome, by))
    else
      view:line(update.promptId, ('%s: %s'):format(update.label, update.text), true)
    end
  end,
  inquiry = function(view, update)
    for _, call in ipairs(update.callIds) do
      view:line('inquiry ' .. call, 'a question goes to a model')
      if update.status ~= 'asked' then
        view:finish('inquiry ' .. call, update.status)
      end
    end
  end,
  steered = function(view, update)
    view:said(update.text)
  end,
  retry = function(view, update)
    if update.discardStep then
      view:discard(update.discardStep)
    end
    view:note(('%s Sent again in %.1f s.'):format(update.reason, update.afterMs / 1000))
  end,
  notice = function(view, update)
    view:note(update.text)
  end,
  title = function(view, update)
    view.title = update.title
    view:redraw()
  end,
}

--- The notification `aside/turn/update`.
function M.update(params)
  local turn = turns[params.turnId]
  if not turn then
    turn = remember(view_of(params.conversationId), params.turnId, params.conversationId)
    turn.view:show()
  end
  local show = kinds[params.update.kind]
  if show and vim.api.nvim_buf_is_valid(turn.view.buf) then
    show(turn.view, params.update, turn)
  end
end

--- The notification `aside/turn/completed`.
function M.complete(params)
  local turn = turns[params.turnId]
  if not turn then
    return
  end
  if params.outcome == 'failed' then
    turn.view:note('Failed: ' .. params.error.message)
    log.say('failed: ' .. params.error.message, 'ErrorMsg')
  elseif params.outcome ~= 'completed' then
    turn.view:note(params.outcome == 'cancelled' and 'Cancelled.' or 'Interrupted. :Aside resume goes on.')
  end
  for _, refusal in ipairs(params.refusals) do
    turn.view:note(refusal.text or ('%s was refused: %s'):format(refusal.tool, refusal.reason))
  end
  M.over(turn, params.outcome)
end

return M

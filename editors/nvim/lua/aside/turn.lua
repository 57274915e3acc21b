--- Turns: starts them, shows what comes of them.
local View = require('aside.view')
local client = require('aside.client')
local log = require('aside.log')

local M = {
  --- Options of the next turns, set by `:Aside model` and `:Aside mode`.
  choice = {}, ---@type { model?: string, mode?: string }
}

---@class aside.Turn
---@field id string
---@field conversation? string
---@field view aside.View
---@field running boolean
---@field printed table<string, boolean> calls that printed something

local turns = {} ---@type table<string, aside.Turn>
local latest ---@type aside.Turn?

--- A turn that runs; one that was interrupted runs again.
---@return aside.Turn
local function begin(view, id, conversation)
  local turn = turns[id] or { id = id, conversation = conversation, view = view, printed = {} }
  turns[id], latest, turn.running = turn, turn, true
  view:set_busy(true)
  client.emit('AsideTurnStarted', { turnId = id, conversationId = conversation })
  return turn
end

---@param turn aside.Turn
local function over(turn, outcome)
  turn.running = false
  for id, line in pairs(turn.view.lines) do
    if line.running then turn.view:finish(id, outcome) end
  end
  turn.view:set_busy(false)
  client.emit('AsideTurnEnded', { turnId = turn.id, conversationId = turn.conversation, outcome = outcome })
end

---@param turn aside.Turn
local function fail(turn, why)
  turn.view:note('Failed: ' .. why)
  log.say('failed: ' .. why, 'ErrorMsg')
  over(turn, 'failed')
end

--- The turn that runs in the answer on the screen, else any that runs.
---@return aside.Turn?
function M.running()
  local visible, all = View.visible(), vim.tbl_filter(function(turn) return turn.running end, vim.tbl_values(turns))
  return vim.iter(all):find(function(turn) return turn.view == visible end) or all[1]
end

--- The view of a conversation; one that began elsewhere gets one.
local function view_of(conversation)
  local view = View.of(conversation) or View.new()
  view.conversation = conversation
  view:show()
  return view
end

---@class aside.Ask
---@field message string
---@field attachments? table[]
---@field anchor? aside.Anchor
---@field new? boolean begin another conversation

--- Starts a turn; or steers the one that runs.
---@param ask aside.Ask
function M.ask(ask)
  local root = client.root(ask.anchor and ask.anchor.buf or vim.api.nvim_get_current_buf())
  client.ready(function()
    if not ask.new and M.running() then
      local more = vim.tbl_map(require('aside.attachments').as_text, ask.attachments or {})
      return M.steer(ask.message .. table.concat(more))
    end
    local view = not ask.new and View.visible() or View.new()
    view.anchor = ask.anchor or view.anchor
    view.title = view.conversation and view.title or ask.message
    view:said(ask.message)
    view:show()
    local turn = begin(view, ('nvim-%d-%x'):format(vim.uv.os_getpid(), vim.uv.hrtime()), view.conversation)
    client.request('aside/turn/start', {
      message = ask.message,
      attachments = ask.attachments,
      conversationId = view.conversation,
      turnId = turn.id,
      model = M.choice.model,
      mode = M.choice.mode,
      root = vim.uri_from_fname(root),
    }, function(result)
      turn.conversation, view.conversation = result.conversationId, result.conversationId
    end, function(err) fail(turn, err.message) end)
  end)
end

--- Goes to the answer.
function M.show()
  local view = View.visible() or View.of()
  if not view then return log.say('there is no answer yet; :Aside ask asks') end
  view:show(true)
end

--- Tells the turn that runs something.
local function tell(method, message)
  local turn = M.running()
  if not turn then return log.say('no turn runs; :Aside ask starts one', 'WarningMsg') end
  client.request(method, { turnId = turn.id, message = message })
end

--- Adds to the turn that runs.
function M.steer(message) tell('aside/turn/steer', message) end

function M.cancel() tell('aside/turn/cancel') end

--- Takes back what the last turn changed in files.
function M.undo()
  if not latest then return log.say('no turn was started here; its files are as they were', 'WarningMsg') end
  client.request('aside/turn/undo', { turnId = latest.id }, function(result)
    local names = vim.tbl_map(function(uri) return vim.fn.fnamemodify(vim.uri_to_fname(uri), ':~:.') end, result.files)
    local what = #names > 0 and 'put back ' .. table.concat(names, ', ') or 'the turn changed no file'
    log.say(what .. (result.untracked and '; what its commands changed is not known' or ''))
    vim.cmd('silent! checktime')
  end)
end

local function resume(conversation)
  local function begun(result) begin(view_of(conversation), result.turnId, conversation) end
  client.request('aside/turn/resume', { conversationId = conversation }, begun)
end

--- Goes on with the interrupted turn of a conversation, or with the newest that there is.
function M.resume(conversation)
  client.ready(function()
    if conversation then return resume(conversation) end
    client.request('aside/conversation/list', { limit = 50 }, function(result)
      local item = vim.iter(result.items):find(function(item) return item.status == 'interrupted' end)
      if not item then return log.say('no turn was interrupted', 'WarningMsg') end
      resume(item.conversationId)
    end)
  end)
end

--- The server is gone: nothing more comes.
function M.abandon(why)
  for _, turn in pairs(turns) do
    if turn.running then
      turn.view:note(why .. ' :Aside resume goes on.')
      over(turn, 'interrupted')
    end
  end
end

local SIGNS = { ok = '✓', error = '✗', cancelled = 'cancelled', denied = 'denied' }

--- Shows an update, by its kind. Other kinds are not shown.
---@type table<string, fun(view: aside.View, update: table, turn: aside.Turn)>
local kinds = {
  text = function(view, update) view:piece('text', update.step, update.text) end,
  reasoning = function(view, update) view:piece('reasoning', update.step, update.text) end,
  toolCall = function(view, update) view:line(update.callId, update.title) end,
  toolOutput = function(view, update, turn)
    turn.printed[update.callId] = true
    view:output(update.callId, update.text)
  end,
  toolResult = function(view, update, turn)
    local summary = vim.split(vim.trim(update.summary or ''), '\n')
    if update.diff or #summary > 1 and not turn.printed[update.callId] then
      view:output(update.callId, (update.diff or update.summary):gsub('\n*$', '\n'))
    end
    local status = (update.exitStatus or 0) ~= 0 and 'error' or update.status
    local sign = SIGNS[status] .. ' ' .. log.short(summary[1], 60)
    view:finish(update.callId, sign, status ~= 'ok' and 'DiagnosticError' or nil)
  end,
  question = function(view, update)
    if update.outcome then
      view:finish(update.promptId, update.text)
    else
      view:line(update.promptId, ('%s: %s'):format(update.label, update.text), true)
    end
  end,
  inquiry = function(view, update)
    for _, call in ipairs(update.callIds) do
      view:line('inquiry ' .. call, 'a question goes to a model')
      if update.status ~= 'asked' then view:finish('inquiry ' .. call, update.status) end
    end
  end,
  steered = function(view, update) view:said(update.text) end,
  retry = function(view, update)
    if update.discardStep then view:discard(update.discardStep) end
    view:note(('%s Sent again in %.1f s.'):format(update.reason, update.afterMs / 1000))
  end,
  notice = function(view, update) view:note(update.text) end,
  title = function(view, update)
    view.title = update.title
    view:redraw()
  end,
}

--- The notification `aside/turn/update`.
function M.update(params)
  local id, conversation = params.turnId, params.conversationId
  local turn = turns[id] or begin(view_of(conversation), id, conversation)
  local show = kinds[params.update.kind]
  if show and turn.view:exists() then show(turn.view, params.update, turn) end
end

--- The notification `aside/turn/completed`.
function M.complete(params)
  local turn, outcome = turns[params.turnId], params.outcome
  if not turn then return end
  local notes = { cancelled = 'Cancelled.', interrupted = 'Interrupted. :Aside resume goes on.' }
  if notes[outcome] then turn.view:note(notes[outcome]) end
  for _, refusal in ipairs(params.refusals) do
    turn.view:note(refusal.text)
  end
  if outcome == 'failed' then return fail(turn, params.error.message) end
  over(turn, outcome)
end

return M

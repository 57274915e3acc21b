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
local latest = {} ---@type table<aside.View, aside.Turn> the last turn of each answer

--- A turn that runs; one that was interrupted runs again.
---@return aside.Turn
local function begin(view, id, conversation)
  local turn = turns[id] or { id = id, conversation = conversation, view = view, printed = {} }
  turns[id], latest[view], turn.running = turn, turn, true
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

---@return aside.Turn[] those that run, the newest first
local function all_running()
  local all = vim.tbl_filter(function(turn) return turn.running end, vim.tbl_values(turns))
  table.sort(all, function(one, other) return one.view.buf > other.view.buf end)
  return all
end

--- Any turn that runs.
---@return aside.Turn?
function M.running() return all_running()[1] end

--- The turn that runs in the answer on the screen.
---@return aside.Turn?
local function seen()
  local visible = View.visible()
  return vim.iter(all_running()):find(function(turn) return turn.view == visible end)
end

--- Lets the person say which of some turns is meant, none of which is on the screen.
---@param items table[] turns, or what has a name
---@param act fun(item: table)
local function which(question, items, act)
  local function title_of(item) return item.name or log.short(item.view.title, 60) end
  vim.ui.select(items, { prompt = question, kind = 'aside', format_item = title_of }, function(item)
    if item then act(item) end
  end)
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

--- Starts a turn: in the conversation on the screen, else in another one.
---@param ask aside.Ask
---@param root string
local function start(ask, root)
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
end

--- Says more to the turn on the screen; or starts one in its conversation. Where no answer is on the screen and turns run
--- out of sight, the person says what is meant.
---@param ask aside.Ask
function M.ask(ask)
  local root = client.root(ask.anchor and ask.anchor.buf or vim.api.nvim_get_current_buf())
  local function steer(turn)
    local more = vim.tbl_map(require('aside.attachments').as_text, ask.attachments or {})
    turn.view:show()
    client.request('aside/turn/steer', { turnId = turn.id, message = ask.message .. table.concat(more) })
  end
  client.ready(function()
    local hidden = all_running()
    if not ask.new and seen() then return steer(seen()) end
    if ask.new or View.visible() or #hidden == 0 then return start(ask, root) end
    table.insert(hidden, 1, { name = 'a new conversation' })
    which('Ask in: ', hidden, function(item)
      if item.view then return steer(item) end
      start(ask, root)
    end)
  end)
end

--- Closes the windows of all answers.
function M.hide()
  local view = View.visible()
  while view do
    view:hide()
    view = View.visible()
  end
end

--- Goes to the answer: the one on the screen, else one that is being written, else the last one. In it, hides it.
function M.show()
  local view, hidden = View.visible(), all_running()
  if view and vim.api.nvim_get_current_win() == view:window() then return view:hide() end
  if not view and #hidden > 1 then
    return which('Go to: ', hidden, function(turn) turn.view:show(true) end)
  end
  view = view or hidden[1] and hidden[1].view or View.of()
  if not view then return log.say('there is no answer yet; :Aside ask asks') end
  view:show(true)
end

--- Tells something to the turn on the screen, else to the one that the person picks.
local function tell(question, act)
  local turn, hidden = seen(), all_running()
  if turn then return act(turn) end
  if #hidden == 0 then return log.say('no turn runs; :Aside ask starts one', 'WarningMsg') end
  which(question, hidden, act)
end

--- Adds to the turn that runs.
function M.steer(message)
  tell('Steer: ', function(turn) client.request('aside/turn/steer', { turnId = turn.id, message = message }) end)
end

function M.cancel()
  tell('Cancel: ', function(turn) client.request('aside/turn/cancel', { turnId = turn.id }) end)
end

---@param turn aside.Turn
local function undo(turn)
  client.request('aside/turn/undo', { turnId = turn.id }, function(result)
    local names = vim.tbl_map(function(uri) return vim.fn.fnamemodify(vim.uri_to_fname(uri), ':~:.') end, result.files)
    local what = #names > 0 and 'put back ' .. table.concat(names, ', ') or 'the turn changed no file'
    log.say(what .. (result.untracked and '; what its commands changed is not known' or ''))
    vim.cmd('silent! checktime')
  end)
end

--- Takes back what the last turn of the answer on the screen changed in files, else of the one that the person picks.
function M.undo()
  local visible, lasts = View.visible(), vim.tbl_values(latest)
  table.sort(lasts, function(one, other) return one.view.buf > other.view.buf end)
  local turn = vim.iter(lasts):find(function(turn) return turn.view == visible end)
  if turn or #lasts == 1 and not visible then return undo(turn or lasts[1]) end
  if #lasts == 0 then return log.say('no turn was started here; its files are as they were', 'WarningMsg') end
  which('Undo: ', lasts, undo)
end

local function resume(conversation)
  local function begun(result) begin(view_of(conversation), result.turnId, conversation) end
  client.request('aside/turn/resume', { conversationId = conversation }, begun)
end

--- How long ago a time was, in words.
---@param time string RFC 3339
local function age(time)
  -- Both as if they were local.
  local now = os.time(os.date('!*t') --[[@as std.osdateparam]])
  local seconds = now - vim.fn.strptime('%Y-%m-%dT%H:%M:%S', time:sub(1, 19))
  for _, unit in ipairs({ { 86400, 'day' }, { 3600, 'hour' }, { 60, 'minute' } }) do
    local count = math.floor(seconds / unit[1])
    if count > 0 then return ('%d %s%s ago'):format(count, unit[2], count == 1 and '' or 's') end
  end
  return 'just now'
end

--- Goes on with the interrupted turn of a conversation: the one given, that on the screen, or the one that is picked.
---@param conversation? string
function M.resume(conversation)
  client.ready(function()
    if conversation then return resume(conversation) end
    client.request('aside/conversation/list', { limit = 200 }, function(result)
      local items = vim.tbl_filter(function(item) return item.status == 'interrupted' end, result.items)
      local visible = View.visible()
      local function is_seen(item) return visible and item.conversationId == visible.conversation end
      local item = vim.iter(items):find(is_seen)
      if item then return resume(item.conversationId) end
      if #items == 0 then return log.say('no turn was interrupted', 'WarningMsg') end
      local function named(each)
        return { name = ('%s · %s'):format(log.short(each.title, 60), age(each.updatedAt)), id = each.conversationId }
      end
      which('Resume: ', vim.tbl_map(named, items), function(each) resume(each.id) end)
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

--- A text with one line break at its end.
local function ended(text) return text:gsub('\n+$', '') .. '\n' end

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
  edit = function(view, update, turn)
    for _, change in ipairs(update.changes) do
      local text = change.diff or change.missing
      -- A new file without text has no diff.
      if text and text ~= '' then
        turn.printed[update.callId] = true
        view:output(update.callId, ended(text))
      end
    end
  end,
  toolResult = function(view, update, turn)
    local summary = vim.split(vim.trim(update.summary or ''), '\n')
    if #summary > 1 and not turn.printed[update.callId] then view:output(update.callId, ended(update.summary)) end
    local status = (update.exitStatus or 0) ~= 0 and 'error' or update.status
    local sign = SIGNS[status] .. ' ' .. log.short(summary[1], 60)
    -- Why it failed is said whole.
    local cut = status ~= 'ok' and #summary == 1 and not View.has_room(sign)
    if cut then view:output(update.callId, summary[1] .. '\n') end
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
    view:note(('%s — sent again in %.1f s.'):format(update.reason:gsub('%.$', ''), update.afterMs / 1000))
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

--- What a person can do about a refusal.
local HINTS = { not_trusted = ' :Aside trust shows what trust means.' }

--- The notification `aside/turn/completed`.
function M.complete(params)
  local turn, outcome = turns[params.turnId], params.outcome
  if not turn then return end
  local notes = { cancelled = 'Cancelled.', interrupted = 'Interrupted. :Aside resume goes on.' }
  if notes[outcome] then turn.view:note(notes[outcome]) end
  for _, refusal in ipairs(params.refusals) do
    turn.view:note(refusal.text .. (HINTS[refusal.reason] or ''))
  end
  if outcome == 'failed' then return fail(turn, params.error.message) end
  over(turn, outcome)
end

return M

--- Turns: starts them, shows what comes of them.
local View = require('aside.view')
local attachments = require('aside.attachments')
local changes = require('aside.changes')
local client = require('aside.client')
local log = require('aside.log')
local select = require('aside.select')
local time = require('aside.time')
local updates = require('aside.updates')

local M = {}

---@class aside.Turn
---@field id string
---@field conversation? string
---@field view aside.View
---@field running boolean
---@field unfit? string
---@field root? string the folder that it works in; nil where it began elsewhere
---@field changed table<string, true> names of the files that it changed
---@field begun string the time, as the server tells times
---@field unasked? boolean the server began it, to summarise a conversation in which nobody writes
---@field done? fun(outcome: string, structured?: table)

local turns = {} ---@type table<string, aside.Turn>
local latest = {} ---@type table<aside.View, aside.Turn> the last turn of each answer
local told ---@type aside.View? the answer out of sight of which it was said last how it ended

--- A turn that runs; one that was interrupted runs again.
---@return aside.Turn
local function begin(view, id, conversation)
  local turn = turns[id] or { id = id, conversation = conversation, view = view, changed = {}, begun = time.now() }
  -- A page that was left, or wiped out, is another one by now.
  turns[id], latest[view], turn.view, turn.running = turn, turn, view, true
  view:take_back(':Aside resume goes on.')
  view:begin_turn(id)
  view:set_busy(true)
  client.emit('AsideTurnStarted', { turnId = id, conversationId = conversation })
  return turn
end

---@param turn aside.Turn
---@param structured? table
local function over(turn, outcome, structured)
  turn.running = false
  turn.view:finish_all(outcome)
  turn.view:set_busy(false)
  client.emit('AsideTurnEnded', { turnId = turn.id, conversationId = turn.conversation, outcome = outcome })
  if turn.done then return turn.done(outcome, structured) end
  -- Nobody sees the end of one that is out of sight.
  local seen = changes.tell() or turn.view:window() ~= nil
  if outcome == 'completed' and not seen and not turn.unasked then
    told = turn.view
    log.say('done: ' .. log.short(turn.view.title, 60), nil, ' — :Aside')
  end
end

---@param turn aside.Turn
local function fail(turn, why)
  turn.view:note('Failed: ' .. why)
  if not turn.view:window() then told = turn.view end
  log.say('failed: ' .. why, 'ErrorMsg', ' — :Aside')
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

--- The turn that runs in an answer, or else in that on the screen.
---@param view? aside.View
---@return aside.Turn?
local function seen(view)
  local visible = view or View.visible()
  return vim.iter(all_running()):find(function(turn) return turn.view == visible end)
end

--- Lets the person say which of some turns is meant, none of which is on the screen.
---@param items table[] turns, or what has a name
---@param act fun(item: table)
local function which(question, items, act)
  local function title_of(item) return item.name or log.short(item.view.title, 60) end
  select(items, { prompt = question, kind = 'aside', format_item = title_of }, function(item)
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

--- Fills a page with the conversation as it was, read from the log, unless something was begun on it meanwhile.
---@param view aside.View
---@param item { conversationId: string, title?: string, status?: string }
---@param done? fun(view: aside.View)
function M.fill(view, item, done)
  local conversation, all = item.conversationId, {}
  view.conversation = conversation
  view.title = (item.title or '') ~= '' and item.title or 'a new conversation'
  require('aside.message').restore(view)
  view:redraw()
  local function page(after)
    client.request('aside/conversation/read', { conversationId = conversation, after = after }, function(result)
      vim.list_extend(all, result.turns)
      if result.next then return page(result.next) end
      local elsewhere = item.status == 'running' or item.status == 'waiting'
      if view:exists() and not view.turn then updates.replay(view, all, elsewhere) end
      -- One that runs goes on on the new page.
      for _, turn in ipairs(all_running()) do
        if turn.conversation == conversation then
          turn.view = view
          view:set_busy(true)
        end
      end
      if done then done(view) end
    end)
  end
  page()
end

--- The page of a conversation; one that is not here is there at once, and filled when it was read.
---@param item { conversationId: string, title?: string }
---@param done? fun(view: aside.View) when all of it is there
---@return aside.View
function M.read(item, done)
  local known = View.of(item.conversationId)
  if known then
    if done then done(known) end
    return known
  end
  local view = View.new()
  M.fill(view, item, done)
  return view
end

---@class aside.Ask
---@field message string
---@field attachments? table[]
---@field anchor? aside.Anchor
---@field new? boolean begin another conversation
---@field view? aside.View the conversation that is meant, in place of the one on the screen
---@field missing? string[] words after `@` that name nothing
---@field choice? string of tools
---@field schema? table which the answer has to fit
---@field unfit? string what is said where it does not
---@field done? fun(outcome: string, structured?: table)
---@field undelivered? fun() the message did not come to the server

--- Starts a turn: in the conversation on the screen, else in another one.
---@param ask aside.Ask
---@param root string
local function start(ask, root)
  local view = ask.view or not ask.new and View.visible() or View.new()
  view.anchor = ask.anchor or view.anchor
  view.title = view.conversation and view.title or log.short(ask.message, 100)
  -- Another message ends what was interrupted.
  view:take_back(':Aside resume goes on.')
  view:said(ask.message, attachments.list(ask.attachments or {}, ask.missing or {}))
  require('aside.prompt').remember(view.conversation)
  if not view.hidden and not require('aside.pane').take(view) then view:show() end
  local turn = begin(view, ('nvim-%d-%x'):format(vim.uv.os_getpid(), vim.uv.hrtime()), view.conversation)
  turn.done, turn.unfit, turn.root = ask.done, ask.unfit, root
  client.request('aside/turn/start', {
    message = ask.message,
    attachments = ask.attachments,
    conversationId = view.conversation,
    turnId = turn.id,
    model = View.choice.model,
    mode = View.choice.mode,
    toolChoice = ask.choice,
    schema = ask.schema,
    root = vim.uri_from_fname(root),
  }, function(result)
    turn.conversation, view.conversation = result.conversationId, result.conversationId
  end, function(err) fail(turn, err.message) end)
end

--- Says more to the turn on the screen; or starts one in its conversation. Where no answer is on the screen and turns run
--- out of sight, the person says what is meant.
---@param ask aside.Ask
function M.ask(ask)
  local root = client.root(ask.anchor and ask.anchor.buf or client.code())
  if not (ask.view and ask.view.hidden) then require('aside.message').remember(ask.message) end
  local function undelivered()
    if ask.undelivered then ask.undelivered() end
    if ask.done then ask.done('failed') end
  end
  local function steer(turn)
    local function as_text(item) return attachments.as_text(item, turn.root) end
    local more = vim.tbl_map(as_text, ask.attachments or {})
    turn.view:show()
    local params = { turnId = turn.id, message = ask.message .. table.concat(more) }
    client.request('aside/turn/steer', params, nil, function(err)
      undelivered()
      log.fail(err.message)
    end)
  end
  client.ready(function()
    local hidden = all_running()
    local meant = not ask.new and seen(ask.view)
    if meant then return steer(meant) end
    if ask.new or ask.view or View.visible() or #hidden == 0 then return start(ask, root) end
    table.insert(hidden, 1, { name = 'a new conversation' })
    which('Ask in: ', hidden, function(item)
      if item.view then return steer(item) end
      start(ask, root)
    end)
  end, undelivered)
end

--- Closes the windows of all answers.
function M.hide()
  vim.iter(View.all()):each(function(view) view:hide() end)
end

--- Says what there is instead of an answer.
local function none_yet()
  client.ready(function()
    client.request('aside/conversation/list', { limit = 200 }, function(result)
      local function is_interrupted(item) return item.status == 'interrupted' end
      if #result.items == 0 then return log.say('there is no answer yet; :Aside ask asks') end
      if vim.iter(result.items):any(is_interrupted) then
        return log.say('no answer is here, but a turn was interrupted', nil, ' — :Aside resume')
      end
      log.say('no answer is here yet', nil, ' — :Aside pane has the last conversation')
    end)
  end)
end

--- Goes to the answer: the one that was said to be there, else the one on the screen, else one that is being written, else the last one. In it, hides it.
function M.show()
  local view, hidden = View.visible(), all_running()
  local news = told and told:exists() and not told:window() and told or nil
  told = nil
  if news then return news:show(true) end
  if view and vim.api.nvim_get_current_win() == view:window() then return view:hide() end
  if not view and #hidden > 1 then
    return which('Go to: ', hidden, function(turn) turn.view:show(true) end)
  end
  view = view or hidden[1] and hidden[1].view or View.of()
  if not view then return none_yet() end
  view:show(true)
end

--- How an answer is, in words.
---@param view aside.View
---@return string
local function state_of(view)
  local function is_mine(prompt) return not prompt.resumable and prompt.conversationId == view.conversation end
  if vim.iter(require('aside.prompt').open()):any(is_mine) then return 'waits for you' end
  local turn = latest[view]
  return turn and turn.running and 'running' or 'ended'
end

--- Lists the answers of this Neovim, and goes to the one that the person picks.
function M.pick()
  local all = vim.tbl_filter(function(view) return latest[view] ~= nil and not view.hidden end, View.all())
  if #all == 0 then return log.say('there is no answer yet; :Aside ask asks') end
  local function order(one, other)
    if one.busy ~= other.busy then return one.busy end
    return one.buf > other.buf
  end
  table.sort(all, order)
  local function item(view)
    return { name = ('%s · %s'):format(log.short(view.title, 60), state_of(view)), view = view }
  end
  which('Go to: ', vim.tbl_map(item, all), function(picked) picked.view:show(true) end)
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

--- Cancels the turn on the screen, else the only one that runs, else the one that the person picks.
function M.cancel()
  local running, visible = all_running(), View.visible()
  local function cancel(turn)
    client.request('aside/turn/cancel', { turnId = turn.id }, function()
      if turn.view ~= visible then log.say('cancelled, out of sight: ' .. log.short(turn.view.title, 60)) end
    end)
  end
  if #running == 1 and not seen() then return cancel(running[1]) end
  tell('Cancel: ', cancel)
end

---@param turn aside.Turn
local function undo(turn)
  if turn.running then return log.say('the turn runs still; :Aside cancel ends it', 'WarningMsg') end
  client.request('aside/turn/undo', { turnId = turn.id }, function(result)
    local back, removed = {}, {}
    for _, uri in ipairs(result.files) do
      local file = vim.uri_to_fname(uri)
      table.insert(vim.uv.fs_stat(file) and back or removed, vim.fn.fnamemodify(file, ':~:.'))
    end
    local parts = { #back > 0 and 'put back ' .. table.concat(back, ', ') or nil }
    parts[#parts + 1] = #removed > 0 and 'removed ' .. table.concat(removed, ', ') or nil
    local what = #parts > 0 and table.concat(parts, '; ') or 'nothing is left to put back'
    changes.forget(result.files)
    require('aside.tools').tell(result.files)
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
  ---@param last aside.Turn
  local function item(last)
    local files = vim.tbl_keys(last.changed)
    table.sort(files)
    local title, age = log.short(last.view.title, 40), time.age(last.begun)
    return { name = ('%s · %s · %s'):format(title, age, log.short(table.concat(files, ', '), 60)), turn = last }
  end
  local able = vim.tbl_filter(function(each) return next(each.changed) ~= nil end, lasts)
  if #able == 0 then return log.say('no turn out of sight changed a file', 'WarningMsg') end
  which('Undo: ', vim.tbl_map(item, able), function(picked) undo(picked.turn) end)
end

---@param item { conversationId: string, title?: string }
local function resume(item)
  local conversation = item.conversationId
  M.read(item, function(view)
    if not require('aside.pane').take(view) then view:show() end
    local function begun(result) begin(view, result.turnId, conversation) end
    client.request('aside/turn/resume', { conversationId = conversation }, begun)
  end)
end

--- Finds the conversations whose last turn was interrupted, the newest first.
---@param done fun(items: { conversationId: string, title: string, updatedAt: string }[])
local function interrupted(done)
  client.ready(function()
    client.request('aside/conversation/list', { limit = 200 }, function(result)
      local items = vim.tbl_filter(function(each) return each.status == 'interrupted' end, result.items)
      if #items == 0 then return log.say('no turn was interrupted', 'WarningMsg') end
      done(items)
    end)
  end)
end

---@return { name: string, item: table }
local function named(item)
  return { name = ('%s · %s'):format(log.short(item.title, 60), time.age(item.updatedAt)), item = item }
end

local function pick_to_resume(items)
  which('Resume: ', vim.tbl_map(named, items), function(each) resume(each.item) end)
end

--- Goes on with the interrupted turn of a conversation: the one given, that on the screen, or the one that is picked.
---@param item? { conversationId: string, title?: string }
function M.resume(item)
  if item then
    return client.ready(function() resume(item) end)
  end
  interrupted(function(items)
    local visible = View.visible()
    local function is_seen(each) return visible and each.conversationId == visible.conversation end
    local found = vim.iter(items):find(is_seen)
    if found then return resume(found) end
    pick_to_resume(items)
  end)
end

--- Lists what was interrupted, and goes on with what the person picks: nothing goes on by habit.
function M.offer_to_resume() interrupted(pick_to_resume) end

--- Ends an interrupted turn for good. One that is cancelled before it goes on does nothing more.
---@param item { conversationId: string, title: string }
local function drop(item)
  local conversation, last = item.conversationId, nil
  local function page(after)
    client.request('aside/conversation/read', { conversationId = conversation, after = after }, function(result)
      last = result.turns[#result.turns] or last
      if result.next then return page(result.next) end
      if not last or last.outcome and last.outcome ~= 'interrupted' then return end
      require('aside.prompt').forget(conversation)
      local function cancel(done)
        client.request('aside/turn/cancel', { turnId = last.turnId }, done, function() end)
      end
      local function dropped() log.say('dropped ' .. log.short(item.title, 60)) end
      client.request('aside/turn/resume', { conversationId = conversation }, function() cancel(dropped) end)
      -- It overtakes what goes on, so that the model is not even asked, unless it comes before that is known.
      cancel()
    end)
  end
  page()
end

--- Picks an interrupted turn, or all of them, and ends it.
function M.drop()
  interrupted(function(items)
    local all = vim.tbl_map(named, items)
    if #all > 1 then table.insert(all, { name = ('all %d of them'):format(#items) }) end
    which('Drop: ', all, function(picked) vim.iter(picked.item and { picked.item } or items):each(drop) end)
  end)
end

--- The server is gone: nothing more comes.
function M.abandon(why)
  changes.abandon()
  for _, turn in pairs(turns) do
    if turn.running then
      turn.view:break_off(why .. ' :Aside resume goes on.')
      over(turn, 'interrupted')
    end
  end
end

local due = false -- whether files are to be looked at

--- Reads buffers again whose files a tool changed: those that Neovim reads again by itself when it looks.
local function read_again()
  if not due then return end
  due = false
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local clean = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and not vim.bo[buf].modified
    local own = vim.api.nvim_get_option_value('autoread', { buf = buf })
    if clean and (own or own == nil and vim.go.autoread) then
      vim.cmd.checktime({ args = { tostring(buf) }, mods = { silent = true, emsg_silent = true } })
    end
  end
end

--- The same, once for all results that are there already: to look at every file for each takes seconds.
local function read_again_soon()
  due = true
  vim.schedule(read_again)
end

--- A turn that the server began: nothing comes up that is not on the screen.
---@return aside.Turn
local function begin_unasked(id, conversation)
  local turn = begin(View.of(conversation) or view_of(conversation), id, conversation)
  turn.unasked = true
  return turn
end

--- The notification `aside/turn/update`.
function M.update(params)
  local id, conversation = params.turnId, params.conversationId
  local turn = turns[id] or begin_unasked(id, conversation)
  updates.show(turn.view, params.update)
  local update = params.update
  if update.kind == 'toolResult' then read_again_soon() end
  -- The person said that it shall be made.
  local file = update.kind == 'toolResult' and update.status == 'error' and changes.approved(id, update.callId)
  if file then log.say(file .. ' was not changed as you said; the answer has the reason', 'WarningMsg') end
  if update.kind ~= 'edit' then return end
  changes.made(id, update)
  for _, change in ipairs(update.changes) do
    turn.changed[vim.fs.basename(vim.uri_to_fname(change.uri))] = true
  end
  require('aside.tools').tell(vim.tbl_map(function(change) return change.uri end, params.update.changes))
end

--- What a person can do about a refusal.
local HINTS = { not_trusted = ' :Aside trust shows what trust means.' }

--- The notification `aside/turn/completed`.
function M.complete(params)
  local turn, outcome = turns[params.turnId], params.outcome
  read_again()
  if not turn then return end
  if outcome ~= 'failed' then updates.close(turn.view, outcome) end
  local said = {} ---@type table<string, true> several calls may be refused alike
  for _, refusal in ipairs(params.refusals) do
    local text = refusal.text .. (HINTS[refusal.reason] or '')
    if not said[text] then turn.view:note(text) end
    said[text] = true
  end
  local failure = params.error or {}
  if outcome == 'failed' then return fail(turn, failure.code == 'schema' and turn.unfit or failure.message) end
  over(turn, outcome, params.structured)
end

return M

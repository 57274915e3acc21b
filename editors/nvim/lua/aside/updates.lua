--- What comes of a turn, on the page of its conversation: while it runs, and read from the log later.
local log = require('aside.log')

local M = {}

local SIGNS = { ok = '✓', error = '✗', cancelled = 'cancelled', denied = 'denied' }

--- A text with one line break at its end.
local function ended(text) return text:gsub('\n+$', '') .. '\n' end

--- The line that says that a model is asked what a call asks.
local function asked(call) return 'inquiry ' .. call end

--- Says below a line what has no room beside it.
---@param view aside.View
---@param text string beside it
---@param whole string? below it; the same without one
local function spell_out(view, id, text, whole)
  if not view:has_room(id, text) then view:explain(id, ended(whole or text)) end
end

--- What of the model's window the conversation takes, and what it cost.
---@param view aside.View
---@param update table<string, integer>
local function count(view, update)
  local spent = view.spent
  spent.context, spent.window = update.contextTokens or spent.context, update.contextWindow or spent.window
  spent.turn_cost = update.costUsd
  view:redraw()
end

--- Shows an update, by its kind. Other kinds are not shown.
---@type table<string, fun(view: aside.View, update: table)>
local kinds = {
  text = function(view, update) view:piece('text', update.step, update.text) end,
  reasoning = function(view, update) view:piece('reasoning', update.step, update.text) end,
  toolCall = function(view, update) view:line(update.callId, update.title) end,
  toolOutput = function(view, update) view:output(update.callId, update.text) end,
  edit = function(view, update)
    for _, change in ipairs(update.changes) do
      local text = change.diff or change.missing
      -- A new file without text has no diff.
      if text and text ~= '' then view:output(update.callId, ended(text)) end
    end
  end,
  toolResult = function(view, update)
    local summary = vim.split(vim.trim(update.summary or ''), '\n')
    local whole = update.content or #summary > 1 and update.summary or nil
    if whole and not view:has_output(update.callId) then view:output(update.callId, ended(whole)) end
    local status = (update.exitStatus or 0) ~= 0 and 'error' or update.status
    local said, decision = log.short(summary[1], 100), view:decision(update.callId)
    local sign = vim.startswith(said, SIGNS[status]) and said
      or SIGNS[status] .. (SIGNS[status]:find('%a') and ': ' or ' ') .. said
    -- Who refused it says more than that it was refused.
    if status == 'denied' and decision then
      sign, summary[1] = log.short(decision, 100), decision
    elseif status == 'ok' and decision and view:has_room(update.callId, sign .. ' · ' .. decision) then
      sign = sign .. ' · ' .. decision
    end
    -- Why it failed is said whole, and not in a fold.
    if status ~= 'ok' then
      spell_out(view, update.callId, sign, summary[1])
    elseif #summary == 1 and not view:has_output(update.callId) and not view:has_room(update.callId, sign) then
      view:output(update.callId, ended(summary[1]))
    end
    view:finish(update.callId, sign, status ~= 'ok' and 'DiagnosticError' or nil)
  end,
  question = function(view, update)
    local id, call = update.promptId, update.callId
    if update.outcome then
      if view:decide(id, update.text) then return end
      spell_out(view, id, update.text)
      view:finish(id, log.short(update.text, 100))
      view:restart(id)
      return
    end
    -- The line that said that a model is asked becomes that of the question.
    local inquired = view:rename(asked(call), id)
    -- Whether a call may run is asked in the line of the call.
    local is_run = update.promptKind == 'runTool'
    if is_run and not inquired and view:ask(id, call, update.text) then return end
    view:line(id, is_run and update.text or ('%s: %s'):format(update.label, update.text), true)
    view.lines[id].call = call
  end,
  inquiry = function(view, update)
    for _, call in ipairs(update.callIds) do
      if update.status == 'asked' then
        view:line(asked(call), 'a question goes to a model')
      else
        view:finish(asked(call), update.status)
      end
    end
  end,
  steered = function(view, update) view:said(update.text) end,
  retry = function(view, update)
    if update.discardStep then view:discard(update.discardStep) end
    local reason = update.reason:gsub('%.$', ''):gsub('^%l', string.upper)
    view:note(('%s — sent again in %.1f s.'):format(reason, update.afterMs / 1000))
  end,
  notice = function(view, update) view:note(update.text) end,
  title = function(view, update)
    view.title = update.title
    view:redraw()
  end,
  usage = count,
}

---@param view aside.View
function M.show(view, update)
  local show = kinds[update.kind]
  if show and view:exists() then show(view, update) end
end

--- How a turn ended, where that is not with its answer.
local NOTES = {
  cancelled = 'Cancelled.',
  failed = 'Failed.',
  interrupted = 'Interrupted. :Aside resume goes on.',
}

--- Says how a turn ended.
---@param view aside.View
---@param outcome string
---@param why? string it failed
function M.close(view, outcome, why)
  local note = why and 'Failed: ' .. why or NOTES[outcome]
  if note then view:note(note) end
end

--- The updates of a turn as they were shown when it ran. What was said while a text was written stands before that in the
--- log, which has a text when all of it is there.
---@param updates table[]
---@return table[]
local function as_shown(updates)
  local all, held, calls, step = {}, {}, 0, nil
  for _, update in ipairs(updates) do
    local kind = update.kind
    calls = calls + (kind == 'toolCall' and 1 or kind == 'toolResult' and -1 or 0)
    if #held > 0 and update.step and step and update.step > step then
      vim.list_extend(all, held)
      held, step = {}, nil
    end
    step = #held > 0 and (step or update.step) or nil
    table.insert(kind == 'steered' and calls <= 0 and held or all, update)
  end
  return vim.list_extend(all, held)
end

--- Writes turns that ran before on an empty page.
---@param view aside.View
---@param turns { turnId: string, message: string, attachments?: string[], updates: table[], outcome?: string, error?: { message: string } }[]
---@param runs? boolean the last one runs still, here or in another program
function M.replay(view, turns, runs)
  for at, turn in ipairs(turns) do
    view:begin_turn(turn.turnId)
    -- One that made a summary, or took one back, has none.
    if turn.message ~= '' then view:said(turn.message, table.concat(turn.attachments or {}, ' · ')) end
    for _, update in ipairs(as_shown(turn.updates)) do
      M.show(view, update)
    end
    if runs and at == #turns and not turn.outcome then
      view:note('It runs, here or in another program; :Aside conversations reads it again.')
    else
      view:finish_all('interrupted')
      M.close(view, turn.outcome or 'interrupted', turn.error and turn.error.message)
    end
  end
  view:flush()
end

return M

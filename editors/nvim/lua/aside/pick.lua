--- Lists to pick from: conversations, models, modes; and trust in a folder.
local View = require('aside.view')
local client = require('aside.client')
local config = require('aside.config')
local log = require('aside.log')
local page = require('aside.page')
local select = require('aside.select')
local time = require('aside.time')
local turn = require('aside.turn')

local M = {
  modes = { 'ask', 'edits', 'plan', 'auto' },
  models = {}, ---@type string[] those of the last list, for completion
}

--- What runs in a mode without being asked for.
local MODES = {
  ask = 'reads; asks before it changes a file or runs anything',
  edits = 'changes files of the project without asking; asks before it runs anything',
  plan = 'reads, and does nothing else',
  auto = 'changes files, and runs commands inside the sandbox, without asking',
}

---@param picked fun(item: any)
local function pick(items, prompt, format, picked)
  select(items, { prompt = prompt, kind = 'aside', format_item = format }, function(item)
    if item then picked(item) end
  end)
end

---@param item { title: string, turns: integer, updatedAt: string, status: string, usage: table }
---@return string
local function title_of(item)
  local parts = {
    time.date(item.updatedAt),
    item.title ~= '' and log.short(item.title, 60) or 'a new conversation',
    ('%d turn%s'):format(item.turns, item.turns == 1 and '' or 's'),
  }
  parts[#parts + 1] = item.usage.costUsd and ('$%.2f'):format(item.usage.costUsd) or nil
  parts[#parts + 1] = item.status ~= 'idle' and item.status or nil
  return table.concat(parts, ' · ')
end

--- Lets the person pick one of all conversations.
---@param question string
---@param query string? a part of its title
---@param picked fun(item: { conversationId: string, title: string })
local function pick_one(question, query, picked)
  client.ready(function()
    client.request('aside/conversation/list', { query = query, limit = 200 }, function(result)
      if #result.items == 0 then return log.say('there are no conversations') end
      pick(result.items, question, title_of, picked)
    end)
  end)
end

---@param item { conversationId: string, title: string }
local function show(item) require('aside.pane').show(turn.read(item)) end

--- Picks a conversation, and shows it in the pane.
---@param query? string a part of its title
function M.conversations(query) pick_one('Conversation: ', query, show) end

--- Does something with the conversation on the screen, else with one that the person picks.
---@param question string
---@param act fun(item: { conversationId: string, title: string })
local function with_one(question, act)
  local view = View.visible()
  if not view or not view.conversation then return pick_one(question, nil, act) end
  client.ready(function() act({ conversationId = view.conversation, title = view.title }) end)
end

function M.fork()
  with_one('Fork: ', function(item)
    local function begun(result)
      -- Who types by now has gone on to something else.
      if vim.startswith(vim.api.nvim_get_mode().mode, 'i') then
        return log.say('forked ' .. log.short(item.title, 40), nil, ' — :Aside conversations')
      end
      show({ conversationId = result.conversationId, title = item.title })
      log.say('this is the fork of ' .. log.short(item.title, 40))
    end
    client.request('aside/conversation/fork', { conversationId = item.conversationId }, begun)
  end)
end

--- Lets the server summarise a conversation.
---@param keep? string what the summary has to keep
function M.compact(keep)
  with_one('Compact: ', function(item)
    turn.read(item, function(view)
      if view.busy then return log.say('a turn runs there; :Aside cancel ends it', 'WarningMsg') end
      turn.ask({ message = vim.trim('/compact ' .. (keep or '')), view = view })
    end)
  end)
end

--- Shows what a person said, answered, allowed and refused in a conversation, and the files that changed.
function M.ledger()
  with_one('Ledger: ', function(item)
    client.request('aside/conversation/ledger', { conversationId = item.conversationId }, function(result)
      if result.text == '' then return log.say('nothing is in the ledger of this conversation yet') end
      local hint = config.hint({ { 'hide', 'close' } })
      local options = { enter = true, height = vim.o.lines - 6, footer = hint ~= '' and hint or nil }
      page.show('ledger', 'ledger', vim.split(vim.trim(result.text), '\n'), options)
      -- It is read, and nothing of it is approved: words stay whole.
      vim.wo[0][0].linebreak, vim.wo[0][0].breakindent = true, true
      local rows = vim.api.nvim_win_text_height(0, {}).all
      vim.api.nvim_win_set_height(0, math.min(rows, options.height))
    end)
  end)
end

---@param title? string
function M.rename(title)
  with_one('Rename: ', function(item)
    local function named(text)
      if not text or text == '' then return end
      local function done()
        local view = View.of(item.conversationId)
        if not view then return end
        view.title = text
        view:redraw()
      end
      client.request('aside/conversation/rename', { conversationId = item.conversationId, title = text }, done)
    end
    if title then return named(title) end
    vim.ui.input({ prompt = 'Title: ', default = item.title }, named)
  end)
end

function M.delete()
  with_one('Delete: ', function(item)
    pick(
      { 'Keep it', 'Delete it for good' },
      ('Delete "%s"? '):format(log.short(item.title, 60)),
      tostring,
      function(choice)
        if choice == 'Keep it' then return end
        local function done()
          local view = View.of(item.conversationId)
          if view then view:forget() end
          require('aside.message').keep(item.conversationId, '')
          log.say('deleted ' .. log.short(item.title, 60))
        end
        client.request('aside/conversation/delete', { conversationId = item.conversationId }, done)
      end
    )
  end)
end

---@param what 'model'|'mode'
local function choose(what, value)
  View.choice[what] = value
  log.say(('the next turns have %s %s'):format(what, value))
  client.emit('AsideStatus', client.status)
  local view = View.visible()
  if view then view:redraw() end
end

--- Finds out what the mode is where nobody chose one.
---@param done fun()
function M.learn_mode(done)
  client.ready(function()
    client.request('aside/config/read', { key = 'conversation.mode' }, function(result)
      local value = result.values[1]
      View.choice.configured = value and value.value or nil
      done()
    end)
  end)
end

--- Chooses the mode of the next turns.
function M.mode(mode)
  if vim.tbl_contains(M.modes, mode) then return choose('mode', mode) end
  if mode then return log.fail(('there is no mode %s; there are %s'):format(mode, table.concat(M.modes, ', '))) end
  local function described(name) return ('%s: %s'):format(name, MODES[name]) end
  M.learn_mode(function()
    local now = View.choice.mode or View.choice.configured or 'as configured'
    pick(M.modes, ('Mode (now %s): '):format(now), described, function(value) choose('mode', value) end)
  end)
end

--- Gets the models of all providers.
---@param done fun(models: table[])
local function with_models(done)
  client.request('aside/model/list', {}, function(result)
    M.models = vim.tbl_map(function(item) return item.id end, result.models)
    done(result.models)
  end)
end

--- Says so where no provider lists the model. It may be there all the same: not every provider lists all that it has.
---@param model string
local function doubt(model)
  if not client.client or model == client.status.model then return end
  with_models(function()
    local known = vim.tbl_contains(M.models, model) or View.choice.model ~= model
    -- It was said that the next turns have it, and they have.
    if not known then
      log.say('no provider lists it; the next turns have ' .. model, 'WarningMsg', ' — :Aside model')
    end
  end)
end

--- Chooses the model of the next turns.
function M.model(model)
  if model then
    choose('model', model)
    return doubt(model)
  end
  local function priced(item)
    local prices = item.prices
    return item.id .. (prices and (' · $%g in, $%g out'):format(prices.input, prices.output) or '')
  end
  client.ready(function()
    with_models(function(models)
      if #models == 0 then return log.say('no provider lists models; :checkhealth aside says why', 'WarningMsg') end
      local now = View.choice.model or client.status.model or 'none'
      pick(models, ('Model (now %s): '):format(now), priced, function(item) choose('model', item.id) end)
    end)
  end)
end

--- The full preview of trust in a folder.
local function trust_lines(folder, preview)
  local lines = { vim.fn.fnamemodify(folder, ':~'), '' }
  local function section(title, items, format)
    lines[#lines + 1] = items and #items > 0 and title or nil
    for _, item in ipairs(items or {}) do
      vim.list_extend(lines, vim.split('  ' .. format(item), '\n'))
    end
  end
  local function start(item)
    local environment = item.environment and ' with ' .. table.concat(item.environment, ', ') or ''
    local kind = item.kind == 'mcpServer' and 'MCP server' or item.kind
    return ('%s %s: %s%s'):format(kind, item.name, item.url or table.concat(item.command, ' '), environment)
  end
  local function setting(item)
    return ('%s = %s%s'):format(item.key, vim.json.encode(item.value), item.overruled and ' (yours counts)' or '')
  end
  section('Trusted, it may start', preview.starts, start)
  section('Its settings', preview.settings, setting)
  section('Programs of the folder', preview.programs, tostring)
  section('Only you can set these, so they have no effect', preview.ignored, tostring)
  local ends = #lines > 2 and 'Trust ends when these files change.' or 'Trust ends when an aside.toml is added to it.'
  local means = page.sentence('In a trusted folder tools may edit and run, as the mode says. ' .. ends)
  return vim.list_extend(lines, means)
end

--- Shows what trust in the folder means, and asks for it.
function M.trust()
  local folder = client.root((client.code()))
  local uri = vim.uri_from_fname(folder)
  local function answer(preview)
    local yes = preview.trusted and 'Trust it no more' or 'Trust this folder'
    select(
      { 'Leave it as it is', yes },
      { prompt = 'Trust: ', kind = 'aside', format_item = tostring, page = 'trust' },
      function(choice)
        page.close('trust')
        if choice ~= yes then return end
        local params = { folder = uri, trusted = not preview.trusted, fingerprint = preview.fingerprint }
        local function said() log.say((preview.trusted and 'trusted no more: ' or 'trusted: ') .. folder) end
        client.request('aside/workspace/trust', params, said)
      end
    )
  end
  client.ready(function()
    client.request('aside/workspace/preview', { folder = uri }, function(preview)
      page.ask('trust', 'trust', trust_lines(folder, preview), 2, function() answer(preview) end)
    end)
  end)
end

return M

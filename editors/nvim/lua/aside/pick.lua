--- Lists to pick from: conversations, models, modes; and trust in a folder.
local View = require('aside.view')
local client = require('aside.client')
local log = require('aside.log')
local page = require('aside.page')
local turn = require('aside.turn')

local M = {
  modes = { 'ask', 'edits', 'plan', 'auto' },
  models = {}, ---@type string[] those of the last list, for completion
}

---@param picked fun(item: any)
local function pick(items, prompt, format, picked)
  vim.ui.select(items, { prompt = prompt, kind = 'aside', format_item = format }, function(item)
    if item then picked(item) end
  end)
end

--- Actions on a conversation.
---@type table<string, fun(item: { conversationId: string, title: string })>
local acts = { Resume = function(item) turn.resume(item.conversationId) end }

--- Shows it in a split; what is asked there goes on with it.
function acts.Read(item)
  client.request('aside/conversation/transcript', { conversationId = item.conversationId }, function(result)
    local view = View.of(item.conversationId) or View.new()
    view.conversation, view.title = item.conversationId, item.title
    if not view.busy then view:set(result.text) end
    view:pin()
  end)
end

function acts.Fork(item)
  local function read(result) acts.Read({ conversationId = result.conversationId, title = item.title }) end
  client.request('aside/conversation/fork', { conversationId = item.conversationId }, read)
end

function acts.Rename(item)
  vim.ui.input({ prompt = 'Title: ', default = item.title }, function(title)
    if not title or title == '' then return end
    client.request('aside/conversation/rename', { conversationId = item.conversationId, title = title })
  end)
end

function acts.Delete(item)
  pick({ 'Keep it', 'Delete it for good' }, ('Delete "%s"? '):format(item.title), tostring, function(choice)
    if choice == 'Keep it' then return end
    local function said() log.say('deleted ' .. item.title) end
    client.request('aside/conversation/delete', { conversationId = item.conversationId }, said)
  end)
end

--- Picks a conversation, and what to do with it.
---@param query? string a part of its title
function M.conversations(query)
  local function title_of(item)
    local state = item.status ~= 'idle' and ' · ' .. item.status or ''
    return ('%s · %d turn%s%s'):format(log.short(item.title, 60), item.turns, item.turns == 1 and '' or 's', state)
  end
  local function picked(item)
    local names = { 'Read', 'Fork', 'Rename', 'Delete' }
    if item.status == 'interrupted' then table.insert(names, 2, 'Resume') end
    pick(names, log.short(item.title, 40) .. ': ', tostring, function(name) acts[name](item) end)
  end
  client.ready(function()
    client.request('aside/conversation/list', { query = query, limit = 200 }, function(result)
      if #result.items == 0 then return log.say('there are no conversations') end
      pick(result.items, 'Conversation: ', title_of, picked)
    end)
  end)
end

---@param what 'model'|'mode'
local function choose(what, value)
  turn.choice[what] = value
  log.say(('the next turns have %s %s'):format(what, value))
  client.emit('AsideStatus', client.status)
end

--- Chooses the mode of the next turns.
function M.mode(mode)
  if vim.tbl_contains(M.modes, mode) then return choose('mode', mode) end
  if mode then return log.fail(('there is no mode %s; there are %s'):format(mode, table.concat(M.modes, ', '))) end
  local prompt = ('Mode (now %s): '):format(turn.choice.mode or 'as configured')
  pick(M.modes, prompt, tostring, function(value) choose('mode', value) end)
end

--- Chooses the model of the next turns.
function M.model(model)
  if model then return choose('model', model) end
  local function title_of(item)
    local prices = item.prices
    return item.id .. (prices and (' · $%g in, $%g out'):format(prices.input, prices.output) or '')
  end
  client.ready(function()
    client.request('aside/model/list', {}, function(result)
      M.models = vim.tbl_map(function(item) return item.id end, result.models)
      if #M.models == 0 then return log.say('no provider is usable; :checkhealth aside says why', 'WarningMsg') end
      local now = turn.choice.model or client.status.model or 'none'
      pick(result.models, ('Model (now %s): '):format(now), title_of, function(item) choose('model', item.id) end)
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
    return ('%s %s: %s%s'):format(item.kind, item.name, item.url or table.concat(item.command, ' '), environment)
  end
  local function setting(item)
    return ('%s = %s%s'):format(item.key, vim.json.encode(item.value), item.overruled and ' (yours counts)' or '')
  end
  section('Trusted, it may start', preview.starts, start)
  section('Its settings', preview.settings, setting)
  section('Programs of the folder', preview.programs, tostring)
  section('Never counts', preview.ignored, tostring)
  lines[#lines + 1] = 'In a trusted folder tools may edit and run, as the mode says. It ends when these files change.'
  return lines
end

--- Shows what trust in the folder means, and asks for it.
function M.trust()
  local folder = client.root(vim.api.nvim_get_current_buf())
  local uri = vim.uri_from_fname(folder)
  local function answer(preview)
    local yes = preview.trusted and 'Trust it no more' or 'Trust this folder'
    vim.ui.select({ 'Leave it as it is', yes }, { prompt = 'Trust: ', kind = 'aside' }, function(choice)
      page.close('trust')
      if choice ~= yes then return end
      local params = { folder = uri, trusted = not preview.trusted, fingerprint = preview.fingerprint }
      local function said() log.say((preview.trusted and 'trusted no more: ' or 'trusted: ') .. folder) end
      client.request('aside/workspace/trust', params, said)
    end)
  end
  client.ready(function()
    client.request('aside/workspace/preview', { folder = uri }, function(preview)
      page.ask('trust', 'trust', trust_lines(folder, preview), 2, function() answer(preview) end)
    end)
  end)
end

return M

--- Lists to pick from: conversations, models, modes; and trust in a folder.
local View = require('aside.view')
local client = require('aside.client')
local log = require('aside.log')
local page = require('aside.page')
local turn = require('aside.turn')

local M = {}

---@param items any[]
---@param prompt string
---@param format fun(item: any): string
---@param picked fun(item: any)
local function pick(items, prompt, format, picked)
  vim.ui.select(items, { prompt = prompt, kind = 'aside', format_item = format }, function(item)
    if item then
      picked(item)
    end
  end)
end

--- Shows a conversation in a split; what is asked there goes on with it.
---@param item { conversationId: string, title: string }
local function read(item)
  client.request('aside/conversation/transcript', { conversationId = item.conversationId }, function(result)
    local view = View.of(item.conversationId) or View.new()
    view.conversation, view.title = item.conversationId, item.title
    if not view.busy then
      view:set(result.text)
    end
    view:pin()
  end)
end

--- What can be done with a conversation.
---@type { name: string, run: fun(item: table) }[]
local acts = {
  { name = 'Read, and go on with it', run = read },
  {
    name = 'Resume',
    run = function(item)
      turn.resume(item.conversationId)
    end,
  },
  {
    name = 'Fork',
    run = function(item)
      client.request('aside/conversation/fork', { conversationId = item.conversationId }, function(result)
        read({ conversationId = result.conversationId, title = item.title })
      end)
    end,
  },
  {
    name = 'Rename',
    run = function(item)
      vim.ui.input({ prompt = 'Title: ', default = item.title }, function(title)
        if title and title ~= '' then
          client.request('aside/conversation/rename', { conversationId = item.conversationId, title = title })
        end
      end)
    end,
  },
  {
    name = 'Delete',
    run = function(item)
      pick({ 'Keep it', 'Delete it for good' }, ('Delete "%s"? '):format(item.title), tostring, function(choice)
        if choice ~= 'Keep it' then
          client.request('aside/conversation/delete', { conversationId = item.conversationId }, function()
            log.say('deleted ' .. item.title)
          end)
        end
      end)
    end,
  },
}

--- Picks a conversation, and what to do with it.
---@param query? string a part of its title
function M.conversations(query)
  client.ready(function()
    client.request('aside/conversation/list', { query = query, limit = 200 }, function(result)
      if #result.items == 0 then
        return log.say('there are no conversations')
      end
      pick(result.items, 'Conversation: ', function(item)
        local state = item.status ~= 'idle' and ' · ' .. item.status or ''
        return ('%s · %d turn%s%s'):format(log.short(item.title, 60), item.turns, item.turns == 1 and '' or 's', state)
      end, function(item)
        local possible = vim.tbl_filter(function(act)
          return act.name ~= 'Resume' or item.status == 'interrupted'
        end, acts)
        pick(possible, log.short(item.title, 40) .. ': ', function(act)
          return act.name
        end, function(act)
          act.run(item)
        end)
      end)
    end)
  end)
end

M.modes = { 'ask', 'edits', 'plan', 'auto' }
M.models = {} ---@type string[] those of the last list, for completion

---@param what 'model'|'mode'
---@param value string
local function choose(what, value)
  turn.choice[what] = value
  log.say(('the next turns have %s %s'):format(what, value))
  client.emit('AsideStatus', client.status)
end

--- Chooses the mode of the next turns.
---@param mode? string
function M.mode(mode)
  if mode and not vim.tbl_contains(M.modes, mode) then
    return log.fail(('there is no mode %s; there are %s'):format(mode, table.concat(M.modes, ', ')))
  elseif mode then
    return choose('mode', mode)
  end
  pick(M.modes, ('Mode (now %s): '):format(turn.choice.mode or 'as configured'), tostring, function(picked)
    choose('mode', picked)
  end)
end

--- Chooses the model of the next turns.
---@param model? string
function M.model(model)
  if model then
    return choose('model', model)
  end
  client.ready(function()
    client.request('aside/model/list', {}, function(result)
      M.models = vim.tbl_map(function(item)
        return item.id
      end, result.models)
      if #M.models == 0 then
        return log.say('no provider is usable; :checkhealth aside says why', 'WarningMsg')
      end
      local now = turn.choice.model or (client.status or {}).model or 'none'
      pick(result.models, ('Model (now %s): '):format(now), function(item)
        local price = item.prices and (' · $%g in, $%g out'):format(item.prices.input, item.prices.output) or ''
        return item.id .. price
      end, function(item)
        choose('model', item.id)
      end)
    end)
  end)
end

--- What trust in a folder would change, whole.
---@param folder string
---@param preview table
---@return string[]
local function trust_lines(folder, preview)
  local lines = { vim.fn.fnamemodify(folder, ':~'), '' }
  local function section(title, items, format)
    if #(items or {}) > 0 then
      lines[#lines + 1] = title
      for _, item in ipairs(items) do
        vim.list_extend(lines, vim.split('  ' .. format(item), '\n'))
      end
    end
  end
  section('Trusted, it may start', preview.starts, function(item)
    local what = item.url or table.concat(item.command or {}, ' ')
    local environment = item.environment and ' with ' .. table.concat(item.environment, ', ') or ''
    return ('%s %s: %s%s'):format(item.kind, item.name, what, environment)
  end)
  section('Its settings', preview.settings, function(item)
    return ('%s = %s%s'):format(item.key, vim.json.encode(item.value), item.overruled and ' (yours counts)' or '')
  end)
  section('Programs of the folder', preview.programs, tostring)
  section('Never counts', preview.ignored, tostring)
  lines[#lines + 1] = 'In a trusted folder tools may edit and run, as the mode says. It ends when these files change.'
  return lines
end

--- Shows what trust in the folder means, and asks for it.
function M.trust()
  local folder = client.root(vim.api.nvim_get_current_buf())
  local uri = vim.uri_from_fname(folder)
  client.ready(function()
    client.request('aside/workspace/preview', { folder = uri }, function(preview)
      page.ask('trust', 'trust', trust_lines(folder, preview), 2, function()
        local yes = preview.trusted and 'Trust it no more' or 'Trust this folder'
        vim.ui.select({ 'Leave it as it is', yes }, { prompt = 'Trust: ', kind = 'aside' }, function(choice)
          page.close('trust')
          if choice == yes then
            local params = { folder = uri, trusted = not preview.trusted, fingerprint = preview.fingerprint }
            client.request('aside/workspace/trust', params, function()
              log.say((preview.trusted and 'trusted no more: ' or 'trusted: ') .. folder)
            end)
          end
        end)
      end)
    end)
  end)
end

return M

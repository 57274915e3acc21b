local T = require('harness')
local test = T.test

local TALK = '[[reply]]\nrepeat = true\nsay = [{ text = "I answer." }]'

test('conversations are picked, read and gone on with, forked, renamed and deleted', { script = TALK }, function()
  T.ask('Aside ask first question')
  T.ask('Aside! ask second question')
  local function one(text)
    return function(texts)
      local today = os.date('%Y-%m-%d ')
      for _, found in ipairs(texts) do
        T.equal(found:sub(1, #today), today)
      end
      return vim.iter(texts):find(function(found) return vim.endswith(found, ' · ' .. text) end)
    end
  end
  local function is_shown(what)
    T.wait(what .. ' is shown', function()
      local view = require('aside.view').visible()
      return vim.bo.filetype == 'aside-message' and view and view.title == what
    end)
  end
  T.picks('Aside conversations', one('first question · 1 turn'))
  is_shown('first question')
  T.wait('it is read', function() return T.page() ~= '' end)
  T.equal(T.page(), '> first question\n\nI answer.')
  T.ask('Aside ask more')
  T.has(T.page(), '> more\n\nI answer.')
  T.picks('Aside rename', 'The first')
  is_shown('The first')
  T.picks('Aside conversations', one('second question · 1 turn'))
  is_shown('second question')
  local before = require('aside.view').visible().conversation
  vim.cmd('Aside fork')
  T.says('this is the fork of second question')
  T.wait('the fork is there', function() return require('aside.view').visible().conversation ~= before end)
  is_shown('second question')
  T.wait('it is read', function() return T.page() ~= '' end)
  T.equal(T.page(), '> second question\n\nI answer.')
  vim.cmd('Aside hide')
  T.picks('Aside delete', one('The first · 2 turns'), 'Keep it')
  T.picks('Aside delete', one('The first · 2 turns'), 'Delete it for good')
  T.says('deleted The first')
  vim.cmd('Aside conversations The')
  T.says('there are no conversations')
  T.equal(#vim.fn.getbufinfo({ buflisted = 1 }), 1)
end)

test('the ledger of a conversation is read, and closed with its key', { script = TALK }, function()
  T.ask('Aside ask first question')
  vim.cmd('Aside ledger')
  T.wait('it is on the screen', function() return T.screen():find('- turn 1: first question', 1, true) end)
  T.has(T.screen(), 'Ledger of this conversation, printed from its log.')
  T.has(T.screen(), 'Messages of the user')
  T.has(T.screen(), '│summary, the ledger is right.')
  vim.api.nvim_feedkeys('q', 'xt', false)
  T.wait('it is closed', function() return not T.screen():find('Messages of the user', 1, true) end)
end)

test('an interrupted conversation is resumed from the list', {
  script = '[[reply]]\nwhen = { step = 1 }\nrepeat = true\nsay = [{ call = "ask_user", arguments = { question = "Go on?", answer_type = "boolean" } }]\n'
    .. '[[reply]]\nsay = [{ text = "I went on." }]',
}, function()
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside stop')
  T.wait('it is stopped', function() return require('aside.client').client == nil end)
  require('aside.view').of():forget()
  T.picks('Aside conversations', function(texts)
    T.has(texts[1], 'go · 1 turn · interrupted')
    return texts[1]
  end)
  T.wait('it is as it was', function() return T.page():find('> go\n\n`Assistant: Go on?`', 1, true) end)
  T.has(T.page(), 'Interrupted. :Aside resume goes on.')
  vim.cmd('Aside resume')
  T.wait('it waits again', function()
    local open = require('aside.prompt').open()[1]
    return open and not open.resumable
  end)
  T.picks('Aside answer', 'Yes')
  T.ended()
  T.has(T.page(), 'I went on.')
end)

test('interrupted turns are dropped, one or all, and go on with nothing', {
  script = [=[
[[reply]]
when = { step = 1 }
times = 3
say = [
  { call = "ask_user", arguments = { question = "Go on?", answer_type = "boolean" } },
  { call = "ask_user", arguments = { question = "Sure?", answer_type = "boolean" } },
]
]=],
}, function()
  for number = 1, 3 do
    vim.cmd('Aside! ask go ' .. number)
    T.prompts(2 * number)
  end
  vim.cmd('Aside stop')
  T.wait('it is stopped', function() return require('aside.client').client == nil end)
  T.picks('Aside drop', function(texts)
    T.equal(#texts, 4)
    T.equal(texts[4], 'all 3 of them')
    return vim.iter(texts):find(function(text) return vim.startswith(text, 'go 2 · ') end)
  end)
  T.says('dropped go 2')
  T.wait('two are left', function() return require('aside').status() == 'Aside · 2 interrupted' end)
  T.picks('Aside drop', 'all 2 of them')
  T.wait('none is left', function() return require('aside').status() == 'Aside' end)
  T.answered()
  vim.cmd('Aside resume')
  T.says('no turn was interrupted')
  -- The script has one reply for each; a request more would have failed.
  T.equal(#vim.tbl_filter(function(event) return event.outcome == 'cancelled' end, T.events('turn_end')), 3)
end)

test('a conversation that is read again says why a turn failed, and a turn without a message has none', {
  script = [=[
[[reply]]
when = { user = "fail" }
fault = { status = 401, text = "no such key" }
[[reply]]
say = [{ text = "Done." }]
]=],
}, function()
  T.ask('Aside ask fail')
  vim.cmd('Aside compact')
  T.ended()
  vim.cmd('Aside hide')
  local conversation = require('aside.view').of().conversation
  require('aside.view').of():forget()
  require('aside.turn').read({ conversationId = conversation, title = 'fail' })
  T.wait('it is read', function() return T.page():find('Failed: .*no such key') end)
  T.lacks(T.page(), '> \n')
end)

test('the list of modes says which one the next turns have', {
  config = { settings = { conversation = { mode = 'plan' } } },
}, function()
  T.picks('Aside mode', false)
  T.equal(T.shown[1].prompt, 'Mode (now plan): ')
  T.picks('Aside mode', 'plan: reads, and does nothing else')
  T.says('the next turns have mode plan')
end)

test('model and mode are chosen for the next turns', { script = TALK }, function()
  local model = vim.env.ASIDE_ASSISTANT__MODEL
  vim.cmd('Aside mode fast')
  T.says('there is no mode fast; there are ask, edits, plan, auto')
  T.picks('Aside mode', function(items)
    T.has(items[2], 'edits: changes files of the project without asking')
    return items[3]
  end)
  T.says('the next turns have mode plan')
  vim.cmd('Aside model ' .. model)
  T.says('the next turns have model rehearsal/')
  T.ask('Aside ask go')
  local start = vim.iter(T.sent):find(function(message) return message.method == 'aside/turn/start' end)
  T.equal({ start.params.model, start.params.mode }, { model, 'plan' })
  vim.cmd('Aside model')
  T.says('no provider lists models')
  vim.cmd('Aside model x/y')
  T.says('no provider lists it; the next turns have x/y — :Aside model')
end)

test('a model is picked from those of the providers', {
  config = { settings = { providers = { anthropic = { base_url = 'http://127.0.0.1:9' } } } },
  script = TALK,
}, function()
  vim.env.ANTHROPIC_API_KEY = 'none'
  T.picks('Aside model', function(texts) return texts[1] end)
  vim.env.ANTHROPIC_API_KEY = nil
  local model = assert(require('aside.view').choice.model)
  T.equal(model:match('^anthropic/'), 'anthropic/')
  T.equal(vim.fn.getcompletion('Aside model ' .. model, 'cmdline')[1], model)
end)

test('trust is asked for with all that it would change', {
  untrusted = true,
  files = { ['aside.toml'] = '[conversation.tools.lint]\nsource = "local"\ncommand = ["sh", "tools/lint.sh"]\n' },
  script = TALK,
}, function()
  T.picks('Aside trust', false)
  T.picks('Aside trust', 'Trust this folder')
  T.says('trusted: /')
  T.picks('Aside trust', 'Trust it no more')
  T.says('trusted no more: /')
end)

test('what there is not is said with what there is', { script = TALK }, function()
  vim.cmd('Aside frobnicate')
  T.says('there is no :Aside frobnicate; there are answer, ask, cancel')
  vim.cmd('Aside what is a Cart?')
  T.says('there is no :Aside what — :Aside ask what …')
  vim.cmd('Aside cancel')
  T.says('no turn runs')
  vim.cmd('Aside undo')
  T.says('no turn was started here')
  vim.cmd('Aside answer')
  T.says('nothing waits for an answer')
  vim.cmd('Aside resume')
  T.says('no turn was interrupted')
  vim.cmd('Aside show')
  T.says('there is no answer yet')
end)

test("an answer of Aside's own list is gone to by its number, also one of two digits", {}, function()
  vim.ui.select, T.own_list = T.select, true
  local items, picked = {}, nil
  for number = 1, 14 do
    items[number] = 'item ' .. number
  end
  local options = { prompt = 'Which? ', kind = 'aside', format_item = tostring }
  for keys, wanted in pairs({ ['12<CR>'] = 'item 12', ['3<CR>'] = 'item 3', ['19<CR>'] = 'item 9' }) do
    require('aside.select')(items, options, function(item) picked = item end)
    T.press(keys)
    T.equal(picked, wanted)
  end
end)

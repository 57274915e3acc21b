local T = require('harness')
local asked = require('asked')
local test, asks, decisions, shown = T.test, asked.asks, asked.decisions, asked.shown
local answer, writes = asked.answer, asked.writes

test('a question is a mark, a sign and one line; nothing opens until the person turns to it', {
  files = { ['a.txt'] = 'one\ntwo\n' },
  script = asks('{ id = "a", text = "Push?", answer_type = { type = "boolean" } }'),
  asking = true,
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('2Aside ask go')
  T.prompts(1)
  T.wait('it is said', function() return T.said[#T.said] and T.said[#T.said]:find('Push') end)
  T.has(T.said[#T.said], 'asker: Push? — :Aside answer')
  T.equal(require('aside').status(), 'Aside · 1 waiting')
  local signs = vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true, type = 'sign' })
  T.equal({ signs[1][2], vim.trim(signs[1][4].sign_text) }, { 1, '?' })
  T.equal(#T.shown, 0)
  answer('Yes')
  T.ended()
  T.equal(T.shown[1].prompt, 'asker: Push? ')
  T.equal(decisions(), { { action = 'answer', answer = true } })
  T.equal(require('aside').status(), 'Aside')
  T.equal(vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { type = 'sign' }), {})
  T.equal(#vim.api.nvim_list_wins(), 2, 'its page is closed')
end)

test('a long question is said in one line, with how to answer it', {
  script = asks(
    ('{ id = "a", text = "%s", answer_type = { type = "boolean" } }'):format(('Is it so? 本当ですか🥛 '):rep(12))
  ),
  asking = true,
}, function()
  vim.cmd('Aside ask go')
  T.prompts(1)
  local said = T.wait(
    'it is said',
    function() return T.said[#T.said] and T.said[#T.said]:find('Is it') and T.said[#T.said] end
  )
  T.has(said, '… — :Aside answer')
  assert(vim.fn.strdisplaywidth(said) <= vim.v.echospace, said)
  answer('Yes')
  T.ended()
end)

test('a boolean may hold for the rest of the turn', {
  script = asks('{ id = "a", text = "Push?", answer_type = { type = "boolean" }, remember = true }'),
  asking = true,
}, function()
  vim.cmd('Aside ask go')
  answer('No, for the rest of this turn')
  T.ended()
  T.equal(decisions(), { { action = 'answer', answer = false, remember = true } })
end)

test('one of several is picked; context and position are shown', {
  script = asks(
    [[{ id = "a", text = "Which?", context = "12: let a;\n40: let b;", answer_type = { type = "select", options = ["one", "two"] } }]]
  ),
  asking = true,
}, function()
  vim.cmd('Aside ask go')
  answer('two')
  T.ended()
  T.equal(shown(), '1 of 1\nasker\n\n12: let a;\n40: let b;\n\nWhich?')
  T.equal(T.shown[1].items, {
    'one',
    'two',
    'Decline, with a note…',
    'Skip: the model goes on without an answer',
    'Later: it goes on waiting',
  })
  T.equal(decisions(), { { action = 'answer', answer = 'two' } })
end)

test('the default of a choice comes first and is called so', {
  script = asks(
    [[{ id = "a", text = "Which?", answer_type = { type = "select", options = ["one", "two"] }, default = "two" }]]
  ),
  asking = true,
}, function()
  vim.cmd('Aside ask go')
  answer('two (the default)')
  T.ended()
  T.equal(vim.list_slice(T.shown[1].items, 1, 2), { 'two (the default)', 'one' })
  T.equal(decisions(), { { action = 'answer', answer = 'two' } })
end)

test('where several conversations ask, a question says in which it is', {
  script = (asks([[{ id = "a", text = "Sure?", answer_type = { type = "boolean" } }]]):gsub(
    '%[%[reply%]%]',
    '[[reply]]\nrepeat = true'
  )),
  asking = true,
}, function()
  vim.cmd('Aside ask first')
  T.prompts(1)
  vim.cmd('Aside! ask second')
  T.prompts(2)
  local screen
  T.choices = {
    function()
      screen = T.screen()
      return 'Later: it goes on waiting'
    end,
  }
  vim.cmd('Aside answer')
  T.has(screen, 'asker · in “first”')
end)

test('several are picked', {
  script = asks(
    [[{ id = "a", text = "Which?", answer_type = { type = "multi_select", options = ["one", "two", "three"], minimum = 1 }, default = ["one"] }]]
  ),
  asking = true,
}, function()
  vim.cmd('Aside ask go')
  answer('[x] one', '[ ] two', '[ ] three', 'That is all')
  T.ended()
  T.equal(decisions(), { { action = 'answer', answer = { 'two', 'three' } } })
end)

test('a number that does not fit waits to be asked for again', {
  script = asks(
    [[{ id = "a", text = "How many?", answer_type = { type = "number", integer = true, minimum = 1, maximum = 5 }, default = 3 }]]
  ),
  asking = true,
}, function()
  vim.cmd('Aside ask go')
  for _, text in ipairs({ '9', 'many' }) do
    local count = #T.said
    answer(text)
    T.wait('it is said', function() return T.said[#T.said]:find('must be') and #T.said > count end)
  end
  answer('4')
  T.ended()
  T.equal(T.shown[1].prompt, 'asker: How many? (a whole number between 1 and 5) ')
  T.equal(T.shown[1].items, '3', 'the default')
  T.equal(decisions()[3], { action = 'answer', answer = 4 })
end)

test('a text is written in as many lines as it takes; what was begun stays where it is left for later', {
  script = asks([[{ id = "a", text = "What name?", answer_type = { type = "text" }, default = "tidy" }]]),
  asking = true,
}, function()
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside answer')
  vim.cmd('stopinsert')
  T.equal(vim.api.nvim_get_current_line(), 'tidy', 'the default')
  T.has(T.screen(), 'What name?')
  T.wait(
    'the keys of its mode',
    function() return T.screen():find('<CR> sends · gN other answers · q later', 1, true) end
  )
  local mode = vim.api.nvim_get_mode
  vim.api.nvim_get_mode = function() return { mode = 'i', blocking = false } end
  vim.api.nvim_exec_autocmds('ModeChanged', { buffer = 0 })
  T.wait('the keys of its mode', function() return T.screen():find('<C-s> sends · <Esc> for more', 1, true) end)
  vim.api.nvim_get_mode = mode
  local windows = #vim.api.nvim_list_wins()
  vim.cmd('Aside answer')
  vim.cmd('stopinsert')
  T.equal(#vim.api.nvim_list_wins(), windows, 'it is there once')
  writes('tidy\nup', 'q')
  T.wait('it is left', function() return #vim.api.nvim_list_wins() == windows - 2 end)
  T.prompts(1)
  T.equal(decisions(), {})
  vim.cmd('Aside answer')
  vim.cmd('stopinsert')
  T.equal(vim.api.nvim_buf_get_lines(0, 0, -1, true), { 'tidy', 'up' })
  T.press('<Esc>Goand more<Esc><CR>')
  T.ended()
  T.equal(decisions(), { { action = 'answer', answer = 'tidy\nup\nand more' } })
  T.equal(#vim.api.nvim_list_wins(), windows - 2)
end)

test('a question that takes a text is declined, too', {
  script = asks([[{ id = "a", text = "What name?", answer_type = { type = "text" } }]]),
  asking = true,
}, function()
  vim.cmd('Aside ask go')
  T.choices = { 'Decline, with a note…', 'ask Ada' }
  writes('so', 'gN')
  T.ended()
  T.equal(decisions(), { { action = 'decline', note = 'ask Ada' } })
end)

test('what waits is listed with its conversation, and what is picked comes first', {
  files = { ['a.txt'] = 'one\n' },
  script = [=[
[[reply]]
when = { user = "first", step = 1 }
say = [{ call = "ask_user", arguments = { question = "Push?", answer_type = "boolean" } }]
[[reply]]
when = { user = "second", step = 1 }
say = [{ call = "ask_user", arguments = { question = "Ship?", answer_type = "boolean" } }]
[[reply]]
repeat = true
say = [{ text = "Done." }]
]=],
}, function()
  vim.cmd('Aside ask first')
  T.prompts(1)
  vim.cmd('Aside! ask second')
  T.prompts(2)
  T.picks('Aside! answer', function(texts)
    T.equal(texts, { 'Assistant: Push? · in “first”', 'Assistant: Ship? · in “second”' })
    return texts[2]
  end, 'Yes')
  T.wait('one is left', function() return #require('aside.prompt').open() == 1 end)
  T.equal(require('aside.prompt').open()[1].text, 'Push?')
  T.wait('it goes on', function() return T.outcomes[1] == 'completed' end)
  T.picks('Aside! show', function(texts)
    T.equal(texts, { 'first · waits for you', 'second · ended' })
    return texts[1]
  end)
  T.has(T.page(), '> first')
  T.picks('Aside answer', 'No')
  T.ended()
end)

local COMMAND = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "run_command", arguments = { command = "echo first; echo second" } }]
[[reply]]
say = [{ text = "Done." }]
]=]

test('a prompt names its conversation where another one is on the screen', {
  script = [=[
[[reply]]
when = { user = "first", step = 1 }
say = [{ call = "run_command", arguments = { command = "echo one" } }]
[[reply]]
repeat = true
say = [{ text = "Done." }]
]=],
}, function()
  vim.cmd('Aside ask first')
  T.prompts(1)
  T.choices = { false }
  vim.cmd('Aside answer')
  T.lacks(T.screen(), 'in “first”')
  vim.cmd('Aside! ask second')
  T.wait('it is answered', function() return T.page():find('Done.', 1, true) end)
  T.choices = {
    function()
      T.has(T.screen(), 'run_command · in “first”')
      return 'No'
    end,
  }
  vim.cmd('Aside answer')
  T.asked()
  T.ended()
end)

test('a command runs from when it was allowed', { script = COMMAND }, function()
  vim.cmd('Aside ask go')
  T.prompts(1)
  local allowed
  T.choices = {
    function()
      local before = vim.uv.now()
      T.wait('time passes', function() return vim.uv.now() > before end)
      allowed = vim.uv.now()
      return 'Run once'
    end,
  }
  local view = require('aside.view').of()
  vim.cmd('Aside answer')
  T.ended()
  for _, line in pairs(view.lines) do
    assert(line.waits or line.started >= allowed, 'it counts what was waited for a person')
  end
end)

test('a text that is sent in insert mode leaves the cursor in the code where it was', {
  script = asks([[{ id = "a", text = "What name?", answer_type = { type = "text" } }]]),
  files = { ['a.txt'] = 'one\n' },
  asking = true,
}, function()
  vim.cmd.edit('a.txt')
  vim.api.nvim_win_set_cursor(0, { 1, 2 })
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside answer')
  vim.cmd('stopinsert')
  T.press('aAda<C-s>')
  T.ended()
  T.equal(decisions(), { { action = 'answer', answer = 'Ada' } })
  T.equal(vim.fn.bufname(), 'a.txt')
  T.equal(vim.api.nvim_win_get_cursor(0), { 1, 2 })
end)

test('what may be left out is left out', {
  script = asks(
    [[{ id = "a", text = "Where to?", answer_type = { type = "text", format = "email" }, optional = true }]]
  ),
  asking = true,
}, function()
  vim.cmd('Aside ask go')
  answer(false, 'Leave it out')
  T.ended()
  T.equal(decisions(), { { action = 'answer', answer = vim.NIL } })
end)

test('a question is declined with a note', {
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "ask_user", arguments = { question = "Push?", answer_type = "boolean" } }]
[[reply]]
when = { result = { tool = "ask_user", contains = "ask Ada" } }
say = [{ text = "I ask Ada." }]
]=],
}, function()
  vim.cmd('Aside ask go')
  answer('Decline, with a note…', 'ask Ada')
  T.ended()
  T.equal(decisions(), { { action = 'decline', note = 'ask Ada' } })
  T.has(T.page(), 'I ask Ada.')
  T.equal(T.beside(), { '`Assistant: no answer (you): ask Ada' })
end)

test('of a question of the model that cannot be asked, a person is told that it failed', {
  script = [=[
[[reply]]
when = { step = 1 }
say = [
  { call = "ask_user", arguments = { question = "Which?", answer_type = "colour" } },
  { call = "ask_user", arguments = { question = "Which?", answer_type = "select" } },
]
[[reply]]
say = [{ text = "I ask otherwise." }]
]=],
}, function()
  T.ask('Aside ask go')
  T.equal(T.outcomes, { 'completed' })
  local failed = '*ask_user failed, and the model was told why.*\n\n'
  T.has(T.page(), failed .. failed .. 'I ask otherwise.')
end)

test('a question that is hidden stays open and is shown again', {
  script = asks('{ id = "a", text = "Push?", answer_type = { type = "boolean" } }'),
  asking = true,
}, function()
  vim.cmd('Aside ask go')
  answer(false)
  T.prompts(1)
  T.equal(decisions(), {})
  answer('Later: it goes on waiting')
  T.prompts(1)
  T.equal(decisions(), {})
  answer('No')
  T.ended()
  T.equal(decisions(), { { action = 'answer', answer = false } })
end)

test('a question is skipped', {
  script = asks('{ id = "a", text = "Push?", answer_type = { type = "boolean" } }'),
  asking = true,
}, function()
  vim.cmd('Aside ask go')
  answer('Skip: the model goes on without an answer')
  T.ended()
  T.has(T.page(), 'Thanks.')
  T.equal(
    vim.iter(T.sent):any(
      function(message) return message.method == 'aside/prompt/answer' and message.params.answer.action == 'cancel' end
    ),
    true
  )
end)

test('a question that is answered twice has one answer', {
  script = asks('{ id = "a", text = "Push?", answer_type = { type = "boolean" } }'),
  asking = true,
}, function()
  vim.cmd('Aside ask go')
  T.prompts(1)
  local acts = {}
  vim.ui.select = function(items, _, done)
    local choice = items[#acts == 0 and 3 or 1]
    acts[#acts + 1] = function() done(choice) end
  end
  vim.cmd('Aside answer')
  vim.cmd('Aside answer')
  vim.iter(acts):each(function(act) act() end)
  T.ended()
  T.equal(decisions(), { { action = 'answer', answer = false } })
  T.equal(#vim.api.nvim_list_wins(), 2)
  acts[1]()
  T.equal(T.said[#T.said], 'Aside: this waits no more')
end)

test('a prompt whose type nobody knows is an error', {}, function()
  local prompt = { promptId = 'p', kind = 'question', answerType = { type = 'colour' } }
  local result, why = require('aside.handlers')['aside/prompt'](nil, prompt)
  T.equal({ result, why }, { nil, { code = -32602, message = 'answerType.type: nobody knows colour' } })
end)

test('of several questions, each waits to be turned to', {
  script = asks([[
    { id = "a", text = "One?", answer_type = { type = "boolean" } },
    { id = "b", text = "Two?", answer_type = { type = "boolean" } }]]):gsub('say = %[%{ text', 'say = [{ text'),
  asking = true,
}, function()
  vim.cmd('Aside ask go')
  answer('Yes')
  answer('No')
  T.ended()
  T.equal(#decisions(), 2)
end)

test('where one of several is left for later, the next one comes first', {
  script = [=[
[[reply]]
when = { step = 1 }
say = [
  { call = "ask_user", arguments = { question = "One?", answer_type = "boolean" } },
  { call = "ask_user", arguments = { question = "Two?", answer_type = "boolean" } },
]
[[reply]]
say = [{ text = "Thanks." }]
]=],
}, function()
  vim.cmd('Aside ask go')
  T.prompts(2)
  for _ = 1, 2 do
    T.choices = { false }
    vim.cmd('Aside answer')
    T.asked()
  end
  local both = { T.shown[1].prompt, T.shown[2].prompt }
  table.sort(both)
  T.equal(both, { 'Assistant: One? ', 'Assistant: Two? ' })
  for count, choice in ipairs({ 'Yes', 'No' }) do
    T.prompts(3 - count)
    T.choices = { choice }
    vim.cmd('Aside answer')
    T.asked()
  end
  T.ended()
end)

test('a question whose turn is cancelled is taken off the screen', {
  script = asks('{ id = "a", text = "Push?", answer_type = { type = "boolean" } }'),
  asking = true,
}, function()
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside cancel')
  T.ended()
  T.prompts(0)
end)

test('a command is shown whole before it runs', {
  files = { ['a.txt'] = 'one\n' },
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "run_command", arguments = { command = "echo first\necho second # \u001b[31m" } }]
[[reply]]
say = [{ text = "Done." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask go')
  answer('Run once')
  T.ended()
  T.has(shown(), '1 of 1\nrun_command\n')
  T.has(shown(), ('echo first\necho second # ␛[31m\nin %s'):format(T.workspace))
  T.has(T.page(), '│ first\n│ second\n')
  T.equal(T.beside(), { '`Run ✓ Exit status 0. · yes, once (you)' }, 'how it ended, and who allowed it')
end)

test('a command that does not fit above its answers is scrolled first, and answered by a key', {
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "run_command", arguments = { command = """
echo 1
]=] .. ('echo more\n'):rep(60) .. [=[
echo last""" } }]
[[reply]]
say = [{ text = "Done." }]
]=],
}, function()
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside answer')
  T.equal(#T.shown, 0)
  T.has(T.buffer(vim.api.nvim_get_current_buf()), 'echo last')
  -- What was not on the screen comes there before it is answered.
  T.press('G<CR>')
  T.has(T.said[#T.said], 'more lines')
  T.equal(#T.shown, 0)
  T.choices = { 'No' }
  T.wait('all of it was on the screen', function()
    T.press('<CR>')
    return #T.choices == 0
  end)
  T.ended()
  T.equal(decisions(), { { action = 'answer', answer = 'no' } })
end)

test('a question that is taken back in the moment in which it came is never shown', {
  script = '[[reply]]\nfault = { stall = true }',
}, function()
  vim.cmd('Aside ask go')
  T.wait('it runs', function() return require('aside.turn').running() end)
  local prompt, answered = require('wire').samples()['prompt-boolean.json'].params, nil
  coroutine.wrap(function() answered = require('aside.prompt').arrive(prompt) end)()
  require('aside.prompt').dismiss(prompt.promptId)
  T.draw()
  T.equal(require('aside.prompt').open(), {})
  T.equal(answered, { action = 'cancel' })
end)

--- What is approved and its answers are on the screen together, in Aside's own list.
---@param command string which shows both
local function stands_below(command)
  vim.ui.select, T.own_list, T.loud = T.select, true, true
  vim.cmd('Aside ask go')
  T.prompts(1)
  for _, leave in ipairs({ 'q', '<Esc>', '<C-c>' }) do
    vim.cmd(command)
    local screen = T.screen()
    T.has(screen, 'echo first; echo second')
    for _, choice in ipairs({ '1: Run once', '4: No', '6: Later' }) do
      T.has(screen, choice)
    end
    T.press(leave)
    T.lacks(T.screen(), '1: Run once')
    T.prompts(1)
  end
  vim.cmd(command)
  T.press('4<CR>')
  T.ended()
  T.has(table.concat(T.beside(), '\n'), 'no (you)')
  T.loud = false
end

test('where a plugin shows messages, the answers stand below what they decide about', { script = COMMAND }, function()
  local namespace, over = vim.api.nvim_create_namespace('plugin'), false
  vim.ui_attach(
    namespace,
    { ext_messages = true },
    function(event, kind) over = over or kind == 'confirm' or event == 'cmdline_show' end
  )
  vim.o.cmdheight = 0
  stands_below('Aside answer')
  vim.ui_detach(namespace)
  vim.o.cmdheight = 1
  T.equal(over, false)
end)

for _, height in ipairs({ 0, 1 }) do
  local name = 'with a command line of %d rows, the answers stand below what they decide about'
  test(name:format(height), { script = COMMAND }, function()
    vim.o.cmdheight = height
    stands_below('Aside answer')
    vim.o.cmdheight = 1
  end)
end

test('nothing is approved below a window that covers it, or in the list of a plugin', { script = COMMAND }, function()
  T.own_list = true
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside answer')
  T.has(T.screen(), '1: Run once')
  local place = { relative = 'editor', row = 2, col = 20, width = 30, height = 1, zindex = 250, style = 'minimal' }
  local over = vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), false, place)
  T.press('1<CR>')
  T.has(T.screen(), 'A window covers what this is about')
  T.prompts(1)
  vim.api.nvim_win_close(over, true)
  T.press('1<CR>')
  T.ended()
  T.has(table.concat(T.beside(), '\n'), 'yes, once (you)')
end)

test('how many are to be picked is said, and too few are not sent', {
  script = asks(
    [[{ id = "a", text = "Which?", answer_type = { type = "multi_select", options = ["one", "two", "three"], minimum = 1, maximum = 2 } }]]
  ),
  asking = true,
}, function()
  vim.ui.select, T.own_list = T.select, true
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside answer')
  T.has(T.screen(), 'Which? (1 to 2 of them)')
  T.has(T.screen(), '<CR> takes one · q closes')
  T.press('4<CR>')
  T.says('0 are picked; pick 1 to 2 of them')
  T.equal(vim.api.nvim_get_current_line(), '4: That is all')
  T.press('2<CR>')
  T.equal(vim.api.nvim_get_current_line(), '2: [x] two')
  T.press('4<CR>')
  T.ended()
  T.equal(decisions(), { { action = 'answer', answer = { 'two' } } })
end)

test('of two questions each says which it is, whatever was looked at before', {
  script = [=[
[[reply]]
when = { step = 1 }
say = [
  { call = "ask_user", arguments = { question = "One?", answer_type = "boolean" } },
  { call = "ask_user", arguments = { question = "Two?", answer_type = "boolean" } },
]
[[reply]]
say = [{ text = "Thanks." }]
]=],
}, function()
  vim.cmd('Aside ask go')
  T.prompts(2)
  for _, titles in ipairs({
    { '1 of 2', 'Later: it goes on waiting' },
    { '2 of 2', 'Later: it goes on waiting' },
    { '1 of 2', 'Yes' },
    { '1 of 1', 'No' },
  }) do
    T.picks('Aside answer', function()
      T.has(T.screen(), 'Aside · ' .. titles[1])
      return titles[2]
    end)
    T.answered()
  end
  T.ended()
end)

test('what is asked in this text comes before what is asked elsewhere', {
  files = { ['a.txt'] = 'one\n', ['b.txt'] = 'two\n' },
  script = [=[
[[reply]]
when = { user = "first", step = 1 }
say = [{ call = "ask_user", arguments = { question = "One?", answer_type = "boolean" } }]
[[reply]]
when = { user = "second", step = 1 }
say = [{ call = "ask_user", arguments = { question = "Two?", answer_type = "boolean" } }]
[[reply]]
repeat = true
say = [{ text = "Thanks." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask first')
  T.prompts(1)
  vim.cmd.edit('b.txt')
  vim.cmd('Aside! ask second')
  T.prompts(2)
  local later = 'Later: it goes on waiting'
  -- What was left for later does not come again before the other.
  for _, turn in ipairs({ { 'Two?', later }, { 'One?', later }, { 'Two?', 'No' }, { 'One?', 'No' } }) do
    T.picks('Aside answer', function()
      T.has(T.screen(), turn[1])
      return turn[2]
    end)
    T.answered()
    vim.cmd.edit('b.txt')
  end
  T.prompts(0)
end)

test('a command that is typed in a list leaves it', { script = COMMAND }, function()
  vim.ui.select, T.own_list = T.select, true
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside answer')
  T.has(T.screen(), '1: Run once')
  T.press(':Aside cancel<CR>')
  T.lacks(T.screen(), '1: Run once')
  T.ended()
  T.prompts(0)
end)

local T = require('harness')
local test = T.test

local TALK = '[[reply]]\nrepeat = true\nsay = [{ text = "I answer." }]'

test('an answer is entered, pinned to a split, replied to and hidden', {
  files = { ['a.txt'] = 'one\n' },
  script = TALK,
}, function()
  vim.cmd.edit('a.txt')
  T.ask('Aside ask go')
  vim.cmd('Aside show')
  T.equal(vim.bo.filetype, 'aside')
  T.press('q')
  T.equal(#vim.api.nvim_list_wins(), 1)
  vim.cmd('Aside')
  T.press('P')
  T.equal(vim.bo.filetype, 'aside-message')
  T.equal(vim.api.nvim_win_get_config(0).relative, '')
  T.equal(#vim.api.nvim_list_wins(), 3)
  T.outcomes = {}
  T.press('iand more<Esc><CR>')
  T.ended()
  T.has(T.page(), '> and more\n\nI answer.')
  vim.cmd.wincmd('k')
  T.equal(vim.bo.modifiable, false)
  T.press('q')
  T.wait('it is closed', function() return #vim.api.nvim_list_wins() == 1 end)
end)

test('an answer whose page is wiped out is written no more; its turn goes on', {
  script = [=[
[[reply]]
when = { user = "go", step = 1 }
say = [{ text = "I ask." }, { call = "ask_user", arguments = { question = "Go on?", answer_type = "boolean" } }]
[[reply]]
repeat = true
say = [{ text = "I went on." }]
]=],
}, function()
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd.bwipeout({ tostring(assert(require('aside.view').of()).buf), bang = true })
  T.picks('Aside answer', 'Yes')
  T.ended()
  T.equal(T.outcomes, { 'completed' })
  T.ask('Aside ask once more')
  T.equal(T.page(), '> once more\n\nI went on.')
end)

test('an answer follows its end until one scrolls up', {
  script = '[[reply]]\nsay = [{ text = "' .. ('line\\n\\n'):rep(120) .. '", pieces = 40 }]\npiece_delay_ms = 20',
}, function()
  vim.cmd('Aside ask go')
  local view = T.wait('much is there', function()
    local view = require('aside.view').visible()
    return view and vim.api.nvim_buf_line_count(view.buf) > 60 and view
  end)
  local win = view:window()
  assert(vim.fn.line('w$', win) > 50, 'it follows')
  vim.api.nvim_win_call(win, function() vim.cmd('normal! gg') end)
  T.ended()
  T.equal(vim.fn.line('w0', win), 1)
  assert(vim.api.nvim_buf_line_count(view.buf) > 200)
end)

test('why a call failed is said whole, and where trust is missing, how to give it', {
  files = { ['a.txt'] = 'one\n' },
  untrusted = true,
  script = [=[
[[reply]]
when = { step = 1 }
say = [
  { call = "edit_file", arguments = { path = "nowhere/to/be/found.txt", old_text = "a", new_text = "b" } },
  { call = "write_file", arguments = { path = "new.txt", content = "b" } },
]
[[reply]]
say = [{ text = "Done." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  T.ask('Aside ask go')
  T.has(T.page(), ':Aside trust shows what trust means.')
  T.equal(require('aside').status(), 'Aside · not trusted')
  T.picks('Aside trust', function(items)
    T.has(T.screen(), ' is added to it.')
    return items[1]
  end)
  T.has(T.page(), '  There is no `nowhere/to/be/found.txt`; create it with write_file.')
end)

test('what a command printed is on the screen as it was printed, though it looks like markdown', {
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "run_command", arguments = { command = "printf '%s\\n' 'v = codes[code]' '[text](http://a.b)' '**b** `c` _d_'" } }]
[[reply]]
say = [{ text = "Done." }]
]=],
}, function()
  vim.cmd('Aside ask go')
  T.prompts(1)
  T.choices = { 'Run once' }
  vim.cmd('Aside answer')
  T.ended()
  vim.cmd('Aside')
  vim.cmd('normal! ggzR')
  for _, text in ipairs({ 'v = codes[code]', '[text](http://a.b)', '**b** `c` _d_' }) do
    T.has(T.screen(), '│ ' .. text)
  end
end)

test('an answer that is shown again has its size and its end, and says how to go to it', {
  files = { ['a.txt'] = 'one\n' },
  script = '[[reply]]\nsay = [{ text = "' .. ('line\\n\\n'):rep(60) .. 'the end\\n\\n" }]',
}, function()
  vim.cmd.edit('a.txt')
  T.ask('Aside ask go')
  local view = assert(require('aside.view').visible())
  local height = vim.api.nvim_win_get_height(view:window())
  T.has(T.screen(), 'the end')
  T.has(T.screen(), ':Aside goes here')
  T.lacks(T.screen(), 'q hide')
  vim.cmd('Aside hide')
  vim.cmd('Aside')
  T.equal(vim.api.nvim_win_get_height(view:window()), height)
  T.has(T.screen(), 'the end')
  T.has(T.screen(), 'q hide')
  vim.cmd.wincmd('p')
  vim.o.lines, vim.o.columns = 14, 60
  vim.api.nvim_exec_autocmds('VimResized', {})
  T.draw()
  T.has(T.screen(), 'the end')
  vim.o.lines, vim.o.columns = 24, 80
end)

test('what stands beside a line is cut where the window ends, in each window', {
  files = { ['folder/of_the_code.txt'] = 'one\n' },
  config = { settings = { conversation = { mode = 'edits' } } },
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "ask_user", arguments = { question = "Go on?", answer_type = "boolean" } }]
[[reply]]
when = { step = 2 }
say = [
  { call = "read_file", arguments = { path = "folder/of_the_code.txt" } },
  { call = "read_file", arguments = { path = "folder/that_is_not_there_at_all.txt" } },
]
[[reply]]
say = [{ text = "Done." }]
]=],
}, function()
  vim.cmd.edit('folder/of_the_code.txt')
  local function is_whole()
    local view = assert(require('aside.view').visible())
    local screen, marks = T.screen(), vim.api.nvim_get_namespaces()['aside.view']
    local found = 0
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(view.buf, marks, 0, -1, { details = true })) do
      local line = vim.fn.getbufline(view.buf, mark[2] + 1)[1]
      if line:find('^`[Rr]ead') then
        T.has(screen, line .. ' ' .. mark[4].virt_text[1][1])
        found = found + 1
      end
    end
    T.equal(found, 2)
  end
  vim.cmd('Aside ask go')
  T.prompts(1)
  -- In a narrow one half of it is for the title.
  vim.cmd('Aside pane')
  vim.cmd('vertical resize 40')
  T.draw()
  T.has(T.page(), '`Assistant: Go on?`')
  vim.cmd('Aside hide')
  T.picks('Aside answer', 'Yes')
  T.ended()
  vim.cmd('Aside')
  is_whole()
  T.equal(vim.wo.winbar, '', 'what a pane has is not left in the float')
  T.press('P')
  is_whole()
  vim.cmd('vertical resize 38')
  T.draw()
  is_whole()
  vim.cmd('Aside hide')
end)

test('what stands beside a line whose title changed stays there when more is written', {
  files = { ['a.txt'] = 'one\n' },
  script = '[[reply]]\nsay = [{ text = "Done." }]',
}, function()
  vim.cmd.edit('a.txt')
  T.ask('Aside ask go')
  local view = assert(require('aside.view').visible())
  view:line('call', 'Ask')
  view:line('call', 'Ask for a name')
  view:note('The server crashed.')
  view:finish('call', 'interrupted')
  T.has(T.screen(), '`Ask for a name`  interrupted')
  view:take_back('The server crashed.')
  view:line('call', 'Ask')
  view:finish('call', 'ok')
  T.has(T.screen(), '`Ask`  ok')
end)

test('a summary while nobody writes is on the page of its conversation, and nothing comes up', {
  files = { ['a.txt'] = 'one\n' },
  script = '[[reply]]\nsay = [{ text = "Done." }]',
}, function()
  vim.cmd.edit('a.txt')
  T.ask('Aside ask go')
  local view = assert(require('aside.view').visible())
  vim.cmd('Aside hide')
  local said = #T.said
  local function happens(update)
    require('aside.turn').update({ turnId = 'idle', conversationId = view.conversation, update = update })
  end
  happens({ kind = 'notice', text = 'It is being summarised.' })
  happens({ kind = 'summary', status = 'asked' })
  happens({ kind = 'notice', text = 'It was summarised.' })
  require('aside.turn').complete({ turnId = 'idle', outcome = 'completed', refusals = {} })
  T.equal({ #vim.api.nvim_list_wins(), #T.said }, { 1, said })
  vim.cmd('Aside')
  T.has(T.page(), 'Done.\n\n*It is being summarised.*\n\n*It was summarised.*')
end)

test('a path in an answer is opened in the window of the code', {
  files = { ['a.txt'] = 'one\n', ['b.txt'] = 'one\ntwo\n' },
  script = '[[reply]]\nsay = [{ text = "Look at b.txt:2 first." }]',
}, function()
  vim.cmd.edit('a.txt')
  -- A language server told of it.
  vim.uri_to_bufnr(vim.uri_from_fname(vim.fn.fnamemodify('b.txt', ':p')))
  local code = vim.api.nvim_get_current_win()
  T.ask('Aside ask go')
  vim.cmd('Aside')
  vim.fn.search('b.txt')
  T.equal(pcall(vim.cmd.edit, 'a.txt'), false, 'it stays an answer')
  T.press('gf')
  T.equal({ vim.api.nvim_get_current_win(), vim.fn.bufname(), vim.fn.line('.') }, { code, 'b.txt', 2 })
  T.has(T.screen(), 'Look at b.txt')
  -- The file that is there is not read again.
  vim.cmd.normal({ 'x1G', bang = true })
  vim.cmd('Aside')
  vim.fn.search('txt:\\zs2')
  T.press('gf')
  T.equal({ vim.fn.bufname(), vim.fn.line('.'), vim.fn.getline(2), vim.bo.modified }, { 'b.txt', 2, 'wo', true })
end)

test('a change of a file that no window shows is shown in that of the code, also from the pane, which may be alone', {
  files = { ['a.txt'] = 'one\n', ['b.txt'] = 'one\n' },
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "read_file", arguments = { path = "b.txt" } }]
[[reply]]
when = { step = 2 }
say = [{ call = "edit_file", arguments = { path = "b.txt", old_text = "one", new_text = "ONE" } }]
[[reply]]
say = [{ text = "Look at a.txt" }]
]=],
}, function()
  vim.cmd.edit('b.txt')
  vim.cmd.edit('a.txt')
  local code = vim.api.nvim_get_current_win()
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside pane')
  T.press('<Esc>')
  vim.cmd('Aside answer')
  T.equal({ vim.api.nvim_get_current_win(), vim.fn.expand('%:t') }, { code, 'b.txt' })
  vim.cmd('Aside pane')
  vim.cmd('Aside pane')
  T.press('<Esc>')
  vim.cmd('only')
  vim.cmd('Aside answer')
  T.equal({ #vim.api.nvim_list_wins(), vim.fn.expand('%:t') }, { 2, 'b.txt' })
  T.press('gy')
  T.ended()
  T.equal(T.text('b.txt'), 'ONE')
end)

test('a change that was taken and could not be made is said', {
  files = { ['a.txt'] = 'one\ntwo\n' },
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "read_file", arguments = { path = "a.txt" } }]
[[reply]]
when = { step = 2 }
say = [{ call = "edit_file", arguments = { path = "a.txt", old_text = "two", new_text = "2" } }]
[[reply]]
say = [{ text = "Done." }]
]=],
}, function()
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside answer')
  T.draw()
  vim.fn.writefile({ 'one', 'TWO' }, 'a.txt')
  T.press('gy')
  T.ended()
  T.has(table.concat(T.said, '\n'), 'a.txt was not changed as you said; the answer has the reason')
end)

test('the end of a turn that is out of sight is said, and `:Aside` goes there', {
  script = '[[reply]]\nwhen = { user = "/^go$/" }\nsay = [{ text = "I answer." }]\ndelay_ms = 200\n'
    .. '[[reply]]\nsay = [{ text = "Another." }]',
}, function()
  vim.cmd('Aside ask go')
  T.wait('it is shown', function() return require('aside.view').visible() end)
  vim.cmd('Aside! ask another')
  T.says('done: go — :Aside')
  T.ended()
  vim.cmd('Aside')
  T.has(T.page(), 'I answer.')
end)

test('the end of a turn whose answer is hidden is said', {
  script = '[[reply]]\nsay = [{ text = "I answer." }]\ndelay_ms = 100',
}, function()
  vim.cmd('Aside ask go')
  T.wait('it is shown', function() return require('aside.view').visible() end)
  vim.cmd('Aside hide')
  T.ended()
  T.says('done: go — :Aside')
end)

test('`:Aside` goes to the turn whose failure was said, and not to the answer on the screen', {
  script = [=[
[[reply]]
when = { user = "first" }
fault = { status = 400, text = "too hot" }
delay_ms = 200
[[reply]]
when = { user = "second" }
say = [{ text = "I answer." }]
]=],
}, function()
  vim.cmd('Aside ask first')
  T.wait('it runs', function() return require('aside.turn').running() end)
  vim.cmd('Aside! ask second')
  T.says('failed: ')
  T.ended()
  vim.cmd('Aside')
  T.equal(require('aside.view').visible().title, 'first')
  T.has(T.page(), 'too hot')
end)

local EDITS = { settings = { conversation = { mode = 'edits' } } }

--- The page, and what stands beside its lines.
local function shown() return T.page() .. '\n' .. table.concat(T.beside(), '\n') end

--- The same, of the conversation as it is read again.
local function read_again()
  require('aside.view').of():forget()
  vim.cmd('Aside pane')
  T.wait('it is read', function() return T.page() ~= '' end)
  return shown()
end

test('a question that a model answered is there with the answer and who gave it, also when it is read again', {
  config = EDITS,
  files = { ['a.txt'] = 'x\nx\n' },
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "read_file", arguments = { path = "a.txt" } }]
[[reply]]
when = { step = 2 }
say = [{ call = "edit_file", arguments = { path = "a.txt", old_text = "x", new_text = "y" } }]
[[reply]]
answers = { occurrence = "2" }
[[reply]]
say = [{ text = "Done." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside pane')
  T.ask('Aside ask go')
  local before = shown()
  T.has(before, '`edit_file: The text')
  T.has(before, '2 (the model)')
  T.lacks(before, 'goes to a model')
  T.equal(read_again(), before)
end)

test('what went along with a message is listed again when the conversation is read again', {
  files = { ['a.txt'] = 'one\ntwo\n', ['b.txt'] = 'bee\n' },
  script = '[[reply]]\nsay = [{ text = "I see." }]',
}, function()
  vim.cmd.edit('a.txt')
  vim.fn.setqflist({ { filename = 'a.txt', lnum = 1, col = 1, text = 'wrong' } })
  T.ask('1,2Aside ask look at @b.txt and @quickfix')
  local before = T.page()
  T.has(before, '> (with a.txt:1-2 · b.txt · quickfix, 1 line)')
  read_again()
  T.equal(T.page(), before)
end)

test('of two edits of a file it is said which was made', {
  files = { ['a.txt'] = 'one\ntwo\nthree\nfour\nfive\n' },
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "read_file", arguments = { path = "a.txt" } }]
[[reply]]
when = { step = 2 }
say = [
  { call = "edit_file", arguments = { path = "a.txt", old_text = "two", new_text = "2" } },
  { call = "edit_file", arguments = { path = "a.txt", old_text = "five", new_text = "5" } },
]
[[reply]]
say = [{ text = "Done." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask go')
  for _, prompt in ipairs(T.prompts(2)) do
    local permission = prompt.text:find('line 2') and 'no' or 'once'
    require('aside.prompt').settle(prompt, { action = 'answer', answer = permission }, function() end)
  end
  T.ended()
  T.has(T.page(), '`Edit a.txt, line 5`')
  T.has(T.page(), '`Edit a.txt, line 2?`')
  -- Whether a call may run is asked and answered in its own line.
  T.equal(vim.list_slice(T.beside(), 2), { '`Edit no (you)', '`Edit ✓ Changed `a.txt`. · yes, once (you)' })
  T.lacks(T.page(), 'line 5?')
end)

test('a NUL is a sign like others, wherever it stands', {
  files = { ['a.txt'] = 'one\ntwo\n' },
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "run_command", arguments = { command = "printf 'a\\0b\\nc\\0d\\n'" } }]
[[reply]]
when = { step = 2 }
say = [{ call = "read_file", arguments = { path = "a.txt" } }]
[[reply]]
when = { step = 3 }
say = [{ call = "edit_file", arguments = { path = "a.txt", old_text = "two", new_text = "t\u0000wo" } }]
[[reply]]
when = { step = 4 }
say = [{ call = "ask_user", arguments = { question = "Is \u0000 it?", answer_type = "select", options = ["o\u0000e", "two"], context = "a\u0000b" } }]
[[reply]]
say = [{ text = "Do\u0000ne." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask go')
  T.prompts(1)
  T.picks('Aside answer', 'Run once')
  local function waits(kind)
    T.wait(kind .. ' waits', function()
      local prompt = require('aside.prompt').open()[1]
      return prompt and prompt.tool.name == kind
    end)
  end
  waits('edit_file')
  vim.cmd('Aside answer')
  T.draw()
  T.has(T.screen(), '+ t^@wo')
  T.press('gy')
  waits('ask_user')
  T.picks('Aside answer', 'two')
  T.ended()
  T.has(T.page(), '│ a␀b\n│ c␀d\n')
  T.has(T.page(), 'Do\0ne.')
  T.has(T.page(), 'Is ␀ it?')
  T.equal(T.text('a.txt'), 'one\nt\nwo')
end)

test(
  'who refused a call says why in its line, or below it where that is narrow',
  { files = { ['a.txt'] = 'one\n' } },
  function()
    local updates, view = require('aside.updates'), require('aside.view').new()
    view:show()
    local function call(width, note)
      vim.api.nvim_win_set_width(assert(view:window()), width)
      local id = 'c' .. width .. #note
      for _, update in ipairs({
        { kind = 'toolCall', callId = id, title = 'run_command', status = 'waiting' },
        {
          kind = 'question',
          promptId = 'p' .. id,
          callId = id,
          promptKind = 'runTool',
          label = 'run_command',
          text = 'Run it?',
        },
        {
          kind = 'question',
          promptId = 'p' .. id,
          outcome = 'answered',
          by = 'user',
          answer = 'no',
          text = 'no (you): ' .. note,
        },
        { kind = 'toolResult', callId = id, status = 'denied', summary = 'you did not allow it' },
      }) do
        updates.show(view, update)
      end
      local page = T.page()
      T.equal(view.lines[id].running, false)
      return page, vim.iter(T.beside()):last()
    end
    local page, beside = call(70, 'not now')
    T.equal(page, '`Run it?`')
    T.equal(beside, '`Run no (you): not now')
    page = call(30, ('because '):rep(10) .. 'I say so')
    T.has(page, '\n`Run it?`\n  no (you): because because')
    T.has(page, 'I say so')
    -- One about a call that is not on the page has a line of its own.
    updates.show(view, {
      kind = 'question',
      promptId = 'x',
      callId = 'x',
      promptKind = 'runTool',
      label = 'run_command',
      text = 'And that?',
    })
    T.has(T.page(), '\n`And that?`')
  end
)

test(
  'without a key the model that is named as an example answers whatever is asked',
  { files = { ['a.txt'] = '' } },
  function()
    vim.env.ASIDE_ASSISTANT__MODEL = nil
    vim.cmd.edit('a.txt')
    T.ask('Aside ask hi')
    T.equal(T.outcomes, { 'failed' })
    T.wait('the hint to all of it', function() return T.said[#T.said]:find(' — :Aside$') end)
    local model = assert(T.page():gsub('%s', ' '):match('for example to `(.-)`'))
    vim.cmd('Aside model ' .. model)
    T.ask('Aside ask hi')
    T.equal(T.outcomes, { 'completed' })
    T.has(T.page(), 'no model was asked')
  end
)

test('a result that has no room beside its call is below it, in a fold', {}, function()
  local view, show = require('aside.view').new(), require('aside.updates').show
  view:show()
  for _, result in ipairs({ ('a long result '):rep(20), 'a short one' }) do
    show(view, { kind = 'toolCall', callId = result, title = 'editor_diagnostics in the editor' })
    show(view, { kind = 'toolResult', callId = result, status = 'ok', summary = result })
  end
  T.has(T.page(), '│ a long result a long result')
  T.lacks(T.page(), 'a short one')
end)

test('a call that is made again in a step that is sent again stands there anew, with what it prints', {}, function()
  local view, show = require('aside.view').new(), require('aside.updates').show
  local function call() show(view, { kind = 'toolCall', callId = 'call', title = 'run_command' }) end
  local function prints(text) show(view, { kind = 'toolOutput', callId = 'call', text = text }) end
  view:show()
  show(view, { kind = 'text', step = 1, text = 'I run it.' })
  call()
  prints('once\n')
  show(view, { kind = 'retry', discardStep = 1, reason = 'The connection broke.', afterMs = 0 })
  prints('of what was taken back\n')
  show(view, { kind = 'text', step = 1, text = 'I run it again.' })
  call()
  prints('twice\n')
  T.equal(T.page():gsub('^.-I run', 'I run'), 'I run it again.\n\n`run_command`\n│ twice', T.page())
end)

test('calls that were refused alike are told of once, with what is refused', {
  untrusted = true,
  script = [=[
[[reply]]
when = { step = 1 }
say = [
  { call = "write_file", arguments = { path = "a.txt", content = "a" } },
  { call = "write_file", arguments = { path = "b.txt", content = "b" } },
]
[[reply]]
say = [{ text = "Done." }]
]=],
}, function()
  T.ask('Aside ask go')
  T.equal(select(2, T.page():gsub(':Aside trust shows what trust means', '')), 1)
  T.has(T.beside()[1], ' denied: the workspace is not trusted')
end)

test('what is wrong with the configuration of a workspace is said once, and not in each turn', {
  files = { ['aside.toml'] = '[sandbox]\nstate = "off"\n' },
  script = '[[reply]]\nrepeat = true\nsay = [{ text = "Done." }]',
}, function()
  T.ask('Aside ask go')
  T.has(T.page(), 'Only you can set')
  T.ask('Aside! ask again')
  T.equal(T.page(), '> again\n\nDone.')
end)

test('all that a tool of a server gave is on the page', {
  files = {
    ['aside.toml'] = '[conversation.tools.weather]\nsource = "local"\ncommand = ["sh", "weather.sh"]\n',
    ['weather.sh'] = 'echo Monday: rain; echo Tuesday: sun\n',
  },
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "weather", arguments = {} }]
[[reply]]
say = [{ text = "Done." }]
]=],
}, function()
  vim.cmd('Aside ask go')
  T.prompts(1)
  T.choices = { 'Run once' }
  vim.cmd('Aside answer')
  T.ended()
  T.has(T.page(), '│ Monday: rain\n│ Tuesday: sun\n')
end)

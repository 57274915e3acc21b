local T = require('harness')
local test = T.test

test('an answer streams into a float beside the code', {
  files = { ['a.lua'] = 'local a = 1\nlocal b = 2\nreturn a\n' },
  script = [=[
[[reply]]
when = { attached = "local b = 2" }
piece_delay_ms = 200
say = [{ text = "It adds\n\n- one\n- two\n", pieces = 8 }]
]=],
}, function()
  vim.cmd.edit('a.lua')
  vim.cmd('1,2Aside ask What is @this?')
  local seen = {}
  T.wait('the turn ends', function()
    seen[T.page()] = true
    return T.outcomes[1]
  end)
  T.equal(T.page(), '> What is @this?\n> (with a.lua:1-2 · nothing for @this)\n\nIt adds\n\n- one\n- two')
  -- Those that come while Neovim is kept waiting are written as one.
  assert(vim.tbl_count(seen) > 2, 'it came in pieces: ' .. vim.inspect(seen))
  local win = assert(require('aside.view').visible()):window()
  T.equal(vim.api.nvim_win_get_config(win).relative, 'win')
  T.equal(vim.api.nvim_get_current_buf(), vim.fn.bufnr('a.lua'), 'the cursor stays in the code')
  T.equal(#vim.fn.getbufinfo({ buflisted = 1 }), 1, 'nothing of it is in the buffer list')
end)

test('an answer in a narrow window stands below the lines that it is about, and keeps its title in a split', {
  files = { ['a.txt'] = ('line\n'):rep(9) },
  script = '[[reply]]\nsay = [{ text = "So it is." }]',
}, function()
  vim.cmd.edit('a.txt')
  T.ask('2,3Aside ask Is it so?')
  local view = assert(require('aside.view').visible())
  T.equal({ vim.o.columns, vim.api.nvim_win_get_config(assert(view:window())).row }, { 80, 3 })
  require('aside.pane').show(view)
  T.has(vim.wo[assert(view:window())].winbar, 'Is it so?')
end)

test('a second question in an open answer goes on with its conversation, one with a bang does not', {
  files = { ['a.txt'] = 'one\n' },
  script = [=[
[[reply]]
when = { user = "first", turn = 1 }
say = [{ text = "First." }]
[[reply]]
when = { user = "second", turn = 2 }
say = [{ text = "Second." }]
[[reply]]
when = { user = "third", turn = 1 }
say = [{ text = "Third." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  T.ask('Aside ask first')
  T.ask('Aside ask second')
  T.equal(T.page(), '> first\n\nFirst.\n\n> second\n\nSecond.')
  T.ask('Aside! ask third')
  T.has(T.page(), 'Third.')
  T.lacks(T.page(), 'First.')
end)

test('a question while a turn runs steers it, with the code that it is about', {
  files = { ['a.txt'] = 'one\ntwo\n' },
  script = [=[
[[reply]]
when = { user = "begin", step = 1 }
say = [{ text = "I look." }, { call = "ask_user", arguments = { question = "Go on?", answer_type = "boolean" } }]
[[reply]]
when = { user = "two" }
say = [{ text = "Steered." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask begin')
  T.prompts(1)
  vim.cmd('2Aside ask rather this, and look at @a.txt')
  T.answered()
  T.choices = { 'Yes' }
  vim.cmd('Aside answer')
  T.ended()
  T.has(T.page(), '> rather this, and look at @a.txt')
  T.has(T.page(), '> a.txt, from line 2:\n> \n> two')
  T.has(T.page(), '> (with a.txt)')
  T.has(T.page(), 'Steered.')
end)

test('what is added while a text is written stands below that text, and in no word of it', {
  script = [=[
[[reply]]
when = { step = 1 }
piece_delay_ms = 100
say = [{ text = "I walk and walk.\n\nI go on.", pieces = 15 }, { call = "run_command", arguments = { command = "echo walked" } }]
[[reply]]
say = [{ text = "I turned." }]
]=],
}, function()
  vim.cmd('Aside ask go')
  T.wait('a word is there', function() return T.page():find('I w') end)
  vim.cmd('Aside steer left')
  T.prompts(1)
  T.choices = { 'No' }
  vim.cmd('Aside answer')
  T.ended()
  T.has(T.page(), '> go\n\nI walk and walk.\n\nI go on.\n\n> left\n\n`Run echo walked?`\n')
  T.has(T.page(), '\n\nI turned.')
end)

test('a turn is cancelled', {
  script = '[[reply]]\nsay = [{ text = "a b c d e f g", pieces = 7 }]\nfault = { stall = true, cut_after = 3 }',
}, function()
  vim.cmd('Aside ask go')
  T.wait('a word is there', function() return T.page():find('a') end)
  vim.cmd('Aside cancel')
  T.ended()
  T.equal(T.outcomes, { 'cancelled' })
  T.has(T.page(), '*Cancelled.*')
end)

test('what @ names goes along and is completed', {
  files = { ['notes.md'] = 'milk\n', ['more.md'] = 'eggs\n', ['sub/deep.md'] = 'deep\n' },
  script = [=[
[[reply]]
when = { attached = "notes.md" }
say = [{ text = "I have the notes." }]
]=],
}, function()
  vim.cmd.edit('more.md')
  vim.diagnostic.set(vim.api.nvim_create_namespace('t'), 0, { { lnum = 0, col = 0, message = 'too many eggs' } })
  vim.cmd('normal! V\27')
  T.ask('Aside ask Look at @notes.md, @sub/deep.md, @nothing, @buffers, @diagnostics and @selection.')
  T.has(T.page(), 'I have the notes.')
  local start = vim.iter(T.sent):find(function(message) return message.method == 'aside/turn/start' end)
  local attached = vim.tbl_map(
    function(item)
      return vim.fs.basename(item.uri) .. (item.text and ' ' .. item.text or '') .. (item.range and ' range' or '')
    end,
    start.params.attachments
  )
  T.equal(attached, {
    'notes.md',
    'deep.md',
    'more.md',
    'untitled:diagnostics more.md:1:1: error: too many eggs',
    'more.md range',
  })
  local function completed(line) return vim.fn.getcompletion(line, 'cmdline') end
  T.equal(completed('Aside ask @no'), { '@notes.md' })
  T.equal(completed('Aside ask @sub/d'), { '@sub/deep.md' })
  T.equal(completed('Aside ask look at @b'), { '@buffers' })
  T.equal(completed('Aside mo'), { 'mode', 'model' })
  T.equal(completed('Aside mode e'), { 'edits' })
end)

test('what is fixed is what the diagnostics of the lines say', {
  files = { ['a.lua'] = 'one\ntwo\n' },
  script = '[[reply]]\nwhen = { attached = "bad two" }\nsay = [{ text = "Fixed." }]',
}, function()
  vim.cmd.edit('a.lua')
  vim.cmd('1Aside fix')
  T.equal(T.said[#T.said], 'Aside: there are no diagnostics here; say what to fix')
  vim.diagnostic.set(vim.api.nvim_create_namespace('t'), 0, {
    { lnum = 0, col = 0, message = 'bad one' },
    { lnum = 1, col = 0, message = 'bad two' },
  })
  T.ask('2Aside fix')
  T.has(T.page(), 'Fixed.')
  local start = vim.iter(T.sent):find(function(message) return message.method == 'aside/turn/start' end)
  T.equal(#start.params.attachments, 2)
  T.lacks(start.params.attachments[2].text, 'bad one')
end)

test('what is said in an answer is about the line of the cursor in the code', {
  files = { ['a.lua'] = 'one\ntwo\n' },
  script = '[[reply]]\nrepeat = true\nsay = [{ text = "1\\n2\\n3\\n4\\n5" }]',
}, function()
  vim.cmd.edit('a.lua')
  T.ask('Aside ask go')
  vim.diagnostic.set(vim.api.nvim_create_namespace('t'), 0, { { lnum = 1, col = 0, message = 'bad two' } })
  vim.cmd('2')
  vim.cmd('Aside')
  T.equal(vim.bo.filetype, 'aside')
  T.ask('Aside fix')
  local last = T.sent[#T.sent].params
  for _, message in ipairs(T.sent) do
    last = message.method == 'aside/turn/start' and message.params or last
  end
  T.has(last.attachments[2].text, 'bad two')
  T.equal(last.attachments[1].range.start.line, 1)
  T.equal(require('aside.view').visible().anchor.row, 1)
  T.picks('Aside trust', function(items)
    T.equal(items, { 'Leave it as it is', 'Trust it no more' })
    return items[1]
  end)
  -- Lines of the answer are those that a range names there.
  T.ask('2,3Aside ask what')
  T.has(T.page(), '> what\n> (with')
end)

test('what failed is said in the answer', {
  script = '[[reply]]\nfault = { status = 401, text = "no such key" }',
}, function()
  T.ask('Aside ask go')
  T.equal(T.outcomes, { 'failed' })
  T.has(T.page(), 'Failed: ')
end)

test('tools are one line each, their output folds open', {
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ text = "I run it." }, { call = "run_command", arguments = { command = "echo one; echo two; exit 3" } }]
[[reply]]
say = [{ text = "It failed." }]
]=],
  config = { settings = { conversation = { mode = 'auto' } } },
}, function()
  vim.cmd('Aside ask go')
  if
    #T.wait('it asks or ends', function()
      local open = require('aside.prompt').open()
      return (#open > 0 or T.outcomes[1]) and open
    end) > 0
  then
    -- Where there is no sandbox it asks.
    T.choices = { 'Run once' }
    vim.cmd('Aside answer')
  end
  T.ended()
  T.has(T.page(), '│ one\n│ two\n')
  T.equal(T.beside()[1], '`Run ✗ Exit status 3.')
  local view = assert(require('aside.view').visible())
  local row = vim.fn.search('dummy', 'n')
  vim.api.nvim_win_call(view:window(), function()
    row = vim.fn.search('│ one', 'nw')
    T.equal(vim.fn.foldclosed(row), row, 'it is folded')
    T.equal(vim.fn.foldclosedend(row), row + 1 + (T.page():find('│ %S*xit') and 1 or 0))
    vim.cmd(row .. 'foldopen')
    T.equal(vim.fn.foldclosed(row), -1, 'it opens')
  end)
end)

test('of what a command prints while it runs, the last line is in sight', {
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "run_command", arguments = { command = "mkfifo go; echo one; echo two; read x <go; echo three" } }]
[[reply]]
say = [{ text = "It ran." }]
]=],
  config = { settings = { conversation = { mode = 'auto' } } },
}, function()
  vim.cmd('Aside ask go')
  T.prompts(1)
  T.choices = { 'Run once' }
  vim.cmd('Aside answer')
  T.wait('the last line', function() return T.screen():find('│ 2 lines · two', 1, true) end)
  vim.fn.writefile({ 'go' }, 'go')
  T.ended()
  T.has(T.screen(), '│ 3 lines ')
  T.lacks(T.screen(), 'three')
end)

test('what is said acts on the answer on the screen, and where none is there, on the turn that is picked', {
  files = { ['a.txt'] = 'one\n' },
  script = [=[
[[reply]]
when = { user = "tidy" }
say = [{ call = "write_file", arguments = { path = "tidy.md", content = "tidy\n" } }]
[[reply]]
repeat = true
say = [{ text = "I am B." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask tidy')
  T.prompts(1)
  local first = require('aside.turn').running()
  local function methods()
    local all = {}
    for _, message in ipairs(T.sent) do
      local name = message.method:match('^aside/turn/(.*)')
      if name and message.params and not name:find('^update') and not name:find('^completed') then
        all[#all + 1] = name .. (message.params.turnId == first.id and ' A' or ' B')
      end
    end
    T.sent = {}
    return all
  end
  local function hello(command)
    T.outcomes = {}
    vim.cmd(command)
    T.wait('B ends', function() return T.outcomes[1] == 'completed' end)
    T.answered()
  end
  hello('Aside! ask hello')
  T.equal(methods(), { 'start A', 'start B' })
  hello('Aside ask what does this do')
  T.equal(methods(), { 'start B' }, 'B is on the screen')
  T.choices = { false }
  vim.cmd('Aside steer more')
  T.equal(T.shown[#T.shown].items, { 'tidy' }, 'which one is asked')
  T.equal(methods(), {})
  require('aside.view').visible():hide()
  T.choices = { false }
  vim.cmd('Aside ask more')
  T.equal(T.shown[#T.shown].items, { 'a new conversation', 'tidy' })
  T.choices = { 'tidy' }
  vim.cmd('Aside ask more')
  T.equal(methods(), { 'steer A' })
  require('aside.view').visible():hide()
  vim.cmd('Aside cancel')
  T.ended()
  T.equal(methods(), { 'cancel A' }, 'it is the only one that runs')
  T.says('cancelled, out of sight: tidy')
  vim.cmd('Aside undo')
  T.says('no turn out of sight changed a file')
end)

test('of two turns out of sight the one that is picked is cancelled, and that is said', {
  script = '[[reply]]\nrepeat = true\nfault = { stall = true }',
}, function()
  vim.cmd('Aside! ask first')
  vim.cmd('Aside! ask second')
  local function is_busy(view) return view.busy end
  T.wait('both run', function() return #vim.tbl_filter(is_busy, require('aside.view').all()) == 2 end)
  T.answered()
  vim.cmd('Aside hide')
  T.picks('Aside cancel', 'first')
  T.says('cancelled, out of sight: first')
  T.wait('one runs on', function() return #vim.tbl_filter(is_busy, require('aside.view').all()) == 1 end)
  vim.cmd('Aside cancel')
  T.says('cancelled, out of sight: second')
  T.ended()
end)

test(
  'an answer takes two fifths of the rows at the most, leaves the line of the cursor free, and is hidden by a command',
  {
    files = { ['a.txt'] = ('one\n'):rep(60) },
    script = '[[reply]]\nrepeat = true\nsay = [{ text = "' .. ('line\\n\\n'):rep(30) .. '" }]',
  },
  function()
    vim.cmd('edit a.txt | vsplit')
    T.ask('Aside ask go')
    local win = assert(require('aside.view').visible()):window()
    assert(vim.api.nvim_win_get_height(win) + 2 <= 0.4 * vim.api.nvim_win_get_height(0))
    for row = 1, vim.api.nvim_win_get_height(0) do
      vim.api.nvim_win_set_cursor(0, { row, 0 })
      vim.api.nvim_exec_autocmds('CursorMoved', {})
      local top = vim.fn.win_screenpos(win)[1]
      local cursor, bottom = vim.fn.screenpos(0, row, 1).row, top + vim.api.nvim_win_get_height(win) + 1
      assert(cursor < top or cursor > bottom, ('line %d is under the rows %d to %d'):format(cursor, top, bottom))
    end
    T.has(T.screen(), '↑ go')
    vim.cmd('Aside hide')
    T.equal(#vim.api.nvim_list_wins(), 2)
    vim.cmd('Aside')
    T.equal(vim.bo.filetype, 'aside')
    vim.cmd('Aside')
    T.equal(#vim.api.nvim_list_wins(), 2, 'it goes as it came')
  end
)

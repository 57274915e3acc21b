local T = require('harness')
local test = T.test

--- Waits until the last line below has this in it.
local function said(part)
  T.wait('it is said: ' .. part, function() return T.said[#T.said] and T.said[#T.said]:find(part, 1, true) end)
end

--- Runs a command that asks the person, and waits until all of it was asked.
local function picks(command, ...)
  T.choices = { ... }
  vim.cmd(command)
  T.asked()
end

local TALK = '[[reply]]\nrepeat = true\nsay = [{ text = "I answer." }]'

test('conversations are picked, read and gone on with, forked, renamed and deleted', { script = TALK }, function()
  T.ask('Aside ask first question')
  T.ask('Aside! ask second question')
  picks('Aside conversations', 'first question · 1 turn', 'Read')
  T.wait('it is shown', function() return vim.bo.filetype == 'aside' and T.page():find('first question', 1, true) end)
  T.equal(vim.api.nvim_win_get_config(0).relative, '', 'in a split')
  T.ask('Aside ask more')
  T.has(T.page(), '> more\n\nI answer.')
  picks('Aside conversations first', 'first question · 2 turns', 'Rename', 'The first')
  picks('Aside conversations', 'second question · 1 turn', 'Fork')
  picks('Aside conversations The', 'The first · 2 turns', 'Delete', 'Keep it')
  picks('Aside conversations The', 'The first · 2 turns', 'Delete', 'Delete it for good')
  said('deleted The first')
  vim.cmd('Aside conversations The')
  said('there are no conversations')
  T.equal(#vim.fn.getbufinfo({ buflisted = 1 }), 1)
end)

test('an interrupted conversation is resumed from the list', {
  script = '[[reply]]\nwhen = { step = 1 }\nrepeat = true\nsay = [{ call = "ask_user", arguments = { question = "Go on?", answer_type = "boolean" } }]\n'
    .. '[[reply]]\nsay = [{ text = "I went on." }]',
}, function()
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside stop')
  T.wait('it is stopped', function() return require('aside.client').client == nil end)
  picks('Aside conversations', 'go · 1 turn · interrupted', 'Resume')
  T.wait('it waits again', function()
    local open = require('aside.prompt').open()[1]
    return open and not open.resumable
  end)
  picks('Aside answer', 'Yes')
  T.ended()
  T.has(T.page(), 'I went on.')
end)

test('model and mode are chosen for the next turns', { script = TALK }, function()
  local model = vim.env.ASIDE_ASSISTANT__MODEL
  vim.cmd('Aside mode fast')
  said('there is no mode fast; there are ask, edits, plan, auto')
  picks('Aside mode', 'plan')
  said('the next turns have mode plan')
  vim.cmd('Aside model ' .. model)
  said('the next turns have model rehearsal/')
  T.ask('Aside ask go')
  local start = vim.iter(T.sent):find(function(message) return message.method == 'aside/turn/start' end)
  T.equal({ start.params.model, start.params.mode }, { model, 'plan' })
  vim.cmd('Aside model')
  said('no provider is usable')
end)

test('a model is picked from those of the providers', {
  config = { settings = { providers = { anthropic = { base_url = 'http://127.0.0.1:9' } } } },
  script = TALK,
}, function()
  vim.env.ANTHROPIC_API_KEY = 'none'
  picks('Aside model', function(texts) return texts[1] end)
  vim.env.ANTHROPIC_API_KEY = nil
  local model = assert(require('aside.turn').choice.model)
  T.equal(model:match('^anthropic/'), 'anthropic/')
  T.equal(vim.fn.getcompletion('Aside model ' .. model, 'cmdline')[1], model)
end)

test('trust is asked for with all that it would change', {
  untrusted = true,
  files = { ['aside.toml'] = '[conversation.tools.lint]\nsource = "local"\ncommand = ["sh", "tools/lint.sh"]\n' },
  script = TALK,
}, function()
  picks('Aside trust', false)
  picks('Aside trust', 'Trust this folder')
  said('trusted: /')
  picks('Aside trust', 'Trust it no more')
  said('trusted no more: /')
end)

test('what there is not is said with what there is', { script = TALK }, function()
  vim.cmd('Aside frobnicate')
  said('there is no :Aside frobnicate; there are answer, ask, cancel')
  vim.cmd('Aside cancel')
  said('no turn runs')
  vim.cmd('Aside undo')
  said('no turn was started here')
  vim.cmd('Aside answer')
  said('nothing waits for an answer')
  vim.cmd('Aside resume')
  said('no turn was interrupted')
  vim.cmd('Aside show')
  said('there is no answer yet')
end)

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
  T.equal(vim.api.nvim_win_get_config(0).relative, '')
  T.equal(#vim.api.nvim_list_wins(), 2)
  T.choices = { 'and more' }
  T.outcomes = {}
  T.press('r')
  T.ended()
  T.has(T.page(), '> and more\n\nI answer.')
  T.equal(vim.bo.modifiable, false)
  T.press('q')
  T.equal(#vim.api.nvim_list_wins(), 1)
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
  picks('Aside answer', 'Yes')
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

--- A language server in this process.
local function language_server()
  local function cmd(dispatchers)
    local function reply(method, params, done)
      if method == 'initialize' then
        done(nil, {
          capabilities = {
            documentSymbolProvider = true,
            referencesProvider = true,
            workspaceSymbolProvider = true,
            positionEncoding = 'utf-16',
          },
        })
      elseif method == 'textDocument/documentSymbol' then
        local range = { start = { line = 0, character = 0 }, ['end'] = { line = 2, character = 3 } }
        local inner = { name = 'inner', kind = 13, range = range, selectionRange = range }
        done(nil, { { name = 'outer', kind = 12, range = range, selectionRange = range, children = { inner } } })
      elseif method == 'workspace/symbol' then
        local start = { line = 0, character = 0 }
        local location = { uri = vim.uri_from_bufnr(0), range = { start = start, ['end'] = start } }
        done(nil, { { name = params.query .. 'er', kind = 12, location = location } })
      elseif method == 'textDocument/references' then
        local at = params.position
        done(nil, { { uri = params.textDocument.uri, range = { start = at, ['end'] = at } } })
      else
        done(nil, nil)
      end
      return true, 1
    end
    return {
      request = reply,
      notify = function() return true end,
      is_closing = function() return false end,
      terminate = function() dispatchers.on_exit(0, 0) end,
    }
  end
  vim.lsp.start({ name = 'toy', cmd = cmd, root_dir = T.workspace })
end

test('the model asks the language servers of the editor', {
  files = { ['a.lua'] = 'local ü, outer = 1\nreturn outer\nend\n' },
  script = [=[
[[reply]]
when = { step = 1 }
say = [
  { call = "editor_symbols", id = "symbols", arguments = { path = "a.lua" } },
  { call = "editor_references", id = "references", arguments = { path = "a.lua", line = 1, symbol = "outer" } },
  { call = "editor_references", id = "nothing", arguments = { path = "a.lua", line = 2, symbol = "inner" } },
  { call = "editor_diagnostics", id = "diagnostics", arguments = { path = "a.lua" } },
  { call = "editor_selection", id = "selection", arguments = {} },
  { call = "editor_symbols", id = "missing", arguments = { path = "b.lua" } },
  { call = "editor_symbols", id = "query", arguments = { query = "out" } },
  { call = "editor_open_files", id = "open", arguments = {} },
]
[[reply]]
say = [{ text = "I know." }]
]=],
}, function()
  vim.cmd.edit('a.lua')
  language_server()
  vim.diagnostic.set(vim.api.nvim_create_namespace('t'), 0, { { lnum = 1, col = 7, message = 'bad', source = 'lint' } })
  vim.cmd('normal! jV\27')
  vim.cmd('Aside ask go')
  -- What only reads is allowed whatever its arguments: four answers or more, since a prompt that the answer before
  -- settles may be shown before it is withdrawn.
  T.otherwise = 'Run, and the like for the rest of this turn'
  T.wait('a tool asks, or the turn ends', function()
    if #require('aside.prompt').open() > 0 then vim.cmd('Aside answer') end
    return T.outcomes[1]
  end)
  T.ended()
  local got = {}
  for _, message in ipairs(T.sent) do
    if message.method == 'aside/tool/call' then
      got[#got + 1] = (message.result.isError and 'error: ' or '') .. message.result.content
    end
  end
  table.sort(got)
  T.equal(got, {
    '1: Function outer\n  1: Variable inner',
    'a.lua',
    'a.lua, line 2.\nSelected are lines 2 to 2:\nreturn outer',
    'a.lua:1:11: local ü, outer = 1',
    'a.lua:1:1: [Function] outer',
    'a.lua:2:8: error: bad (lint)',
    'error: line 2 of a.lua does not contain inner',
    'error: there is no file b.lua',
  })
end)

test('a path that the model gives is from the folder that the turn works in', {
  files = { ['other/.git/x'] = '', ['other/a.lua'] = 'one\n', ['other/b.lua'] = 'two\n', ['b.lua'] = 'one\n' },
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "editor_diagnostics", arguments = { path = "b.lua" } }]
[[reply]]
when = { result = { tool = "editor_diagnostics", contains = "b.lua:1:1: error: bad two" } }
say = [{ text = "I know." }]
]=],
}, function()
  assert(vim.system({ T.aside, 'trust', '--yes' }, { cwd = T.workspace .. '/other' }):wait().code == 0)
  vim.cmd.edit('other/b.lua')
  vim.diagnostic.set(vim.api.nvim_create_namespace('t'), 0, { { lnum = 0, col = 0, message = 'bad two' } })
  vim.cmd.edit('other/a.lua')
  T.otherwise = 'Run once'
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside answer')
  T.ended()
  T.has(T.page(), 'I know.')
  local call = vim.iter(T.sent):find(function(message) return message.method == 'aside/tool/call' end)
  T.has(call.result.content, 'b.lua:1:1: error: bad two')
  T.lacks(call.result.content, 'other')
end)

test('the tools of the editor are allowed by name with one answer, for good', {
  files = { ['a.txt'] = 'one\n' },
  script = [=[
[[reply]]
when = { step = 1 }
repeat = true
say = [{ call = "editor_selection", id = "a", arguments = {} }, { call = "editor_diagnostics", id = "b", arguments = {} }]
[[reply]]
when = { step = 2 }
repeat = true
say = [{ call = "editor_selection", id = "c", arguments = {} }]
[[reply]]
repeat = true
say = [{ text = "I looked." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask go')
  T.prompts(2)
  picks('Aside answer', 'Run, always, as all that only read: diagnostics, open_files, references, selection, symbols')
  T.ended()
  T.equal(#T.shown, 1)
  T.has(T.shown[1].prompt, 'editor_')
  T.ask('Aside ask again')
  vim.cmd('Aside stop')
  T.wait('it is stopped', function() return require('aside.client').client == nil end)
  T.ask('Aside! ask once more')
  T.has(T.page(), 'I looked.')
  local asked = vim.tbl_filter(function(message) return message.method == 'aside/prompt' end, T.sent)
  T.equal(#asked, 2, 'none in the turns that follow')
  -- Who answered is on record: the person for the first call, and the configuration for all others.
  local record = {}
  for _, event in ipairs(T.events('prompt_closed')) do
    record[event.outcome] = (record[event.outcome] or 0) + 1
  end
  T.equal(record, { permitted = 1, configured = 8 })
  local shown = vim.system({ T.aside, 'conversation', 'show' }, { text = true, cwd = T.workspace }):wait()
  T.has(shown.stdout, '**The configuration answered:** once')
  T.lacks(shown.stdout, 'The user answered')
  local kept = require('aside.tools').allowed
  T.has(
    T.text(kept),
    'run unasked in the editor: diagnostics, open_files, references, selection, symbols; delete this file'
  )
  vim.fn.delete(kept)
end)

test('a list that a server may send to any editor opens nothing, and answers nothing', {}, function()
  local ask = require('aside.handlers')['window/showMessageRequest']
  T.equal(ask(nil, { type = 3, message = 'Run it?', actions = { { title = 'Yes' } } }), vim.NIL)
  T.equal({ #T.shown, T.said }, { 0, { 'Aside: Run it?' } })
end)

test('the help file is made of the annotations', {}, function()
  local made = vim
    .system({ vim.v.progpath, '--clean', '-l', T.repository .. '/tests/nvim/help.lua' }, { text = true })
    :wait()
  T.equal(
    made.stdout .. made.stderr,
    T.text(T.plugin .. '/doc/aside.txt') .. '\n',
    'run tests/nvim/help.lua > doc/aside.txt'
  )
end)

test('what the samples answer is shown, and each method of the plugin has samples', {}, function()
  local samples, client = require('wire').samples(), require('aside.client')
  local asked = {}
  client.ready = function(act) act() end
  client.request = function(method, params, done)
    local name = method:gsub('^aside/', ''):gsub('/', '-')
    asked[method] = params
    if done then done(samples[name .. '-result.json'].result) end
  end
  picks('Aside conversations', function(texts)
    T.equal(texts, { 'Tidy the imports · 3 turns · waiting', 'Why are imports sorted? · 1 turn' })
    return texts[1]
  end, 'Read')
  T.equal(T.page(), '# Tidy the imports\n\n## 1. Tidy the imports of src/main.rs\n\nDone.')
  picks('Aside conversations', 'Why are imports sorted? · 1 turn', 'Fork')
  picks('Aside conversations', 'Why are imports sorted? · 1 turn', 'Rename', 'Sorting')
  T.equal(asked['aside/conversation/rename'], { conversationId = 'c-1b7', title = 'Sorting' })
  picks('Aside conversations', 'Why are imports sorted? · 1 turn', 'Delete', 'Delete it for good')
  T.equal(asked['aside/conversation/delete'], { conversationId = 'c-1b7' })
  picks('Aside model', function(texts)
    T.equal(texts, { 'anthropic/claude-opus-5-5 · $4 in, $20 out', 'mine/tiny' })
    return texts[2]
  end)
  local shown
  local page = require('aside.page')
  page.ask = function(_, _, lines, _, act)
    shown = table.concat(lines, '\n')
    act()
  end
  picks('Aside trust', 'Trust this folder')
  for _, part in ipairs({
    'tool lint: sh tools/lint.sh',
    'mcpServer db: bin/db db.ini with DB_KEY',
    'mcpServer docs: https://docs.example.org/mcp',
    'assistant.reasoning = "high" (yours counts)',
    'tools/lint.sh',
    'sandbox',
  }) do
    T.has(shown, part)
  end
  T.equal(asked['aside/workspace/trust'].fingerprint, samples['workspace-preview-result.json'].result.fingerprint)
  require('aside.turn').ask({ message = 'go' })
  T.equal(require('aside.view').visible().conversation, 'c-2f1')
  vim.cmd('Aside steer and this')
  vim.cmd('Aside cancel')
  vim.cmd('Aside undo')
  said('put back /home/ada/demo/src/main.rs; what its commands')
  require('aside.turn').resume('c-2f1')
  require('aside.prompt').load()
  T.equal(require('aside.prompt').open()[1].text, 'Ship it?')
  require('aside.prompt').settle(require('aside.prompt').open()[1], { action = 'cancel' }, function() end)
  T.prompts(0)
  -- Whatever the plugin sends was sent, and is in the table of methods; whatever the server may send has a handler.
  local known = {}
  for _, row in ipairs(vim.json.decode(T.text(T.repository .. '/editors/methods.json'))) do
    known[row.method] = row.to
  end
  for name in vim.fs.dir(T.plugin .. '/lua/aside') do
    for method in T.text(T.plugin .. '/lua/aside/' .. name):gmatch("'(aside/[%w/]+)'") do
      assert(known[method], method .. ' is no method')
      assert(known[method] == 'client' or asked[method], method .. ' was not sent')
    end
  end
  for method, params in pairs(asked) do
    T.sent[#T.sent + 1] = { method = method, params = params }
  end
end)

test('every message of the samples is shown or acted on', {
  files = { ['a.txt'] = 'one\n' },
  script = '[[reply]]\nfault = { stall = true }',
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask go')
  T.wait(
    'it runs',
    function() return require('aside.turn').running() and require('aside.view').visible().conversation end
  )
  local handlers, turn = require('aside.handlers'), require('aside.turn').running()
  local samples, read = require('wire').samples(), {}
  local names = vim.tbl_keys(samples)
  -- Updates in their order, what ends the turn last.
  local function order(name)
    local sample = samples[name]
    return sample.method == 'aside/turn/update' and sample.params.seq
      or sample.method == 'aside/turn/completed' and 1000
      or 500
  end
  table.sort(names, function(a, b) return order(a) == order(b) and a < b or order(a) < order(b) end)
  for _, name in ipairs(names) do
    local sample = samples[name]
    local mine = sample.method and handlers[sample.method]
    if mine and sample.params.turnId then
      sample.params.turnId, sample.params.conversationId = turn.id, turn.conversation
    end
    if sample.method == 'aside/prompt' then
      coroutine.wrap(mine)(nil, sample.params)
      T.prompts(1)
      require('aside.prompt').dismiss(sample.params.promptId)
      read[name] = true
    elseif mine and not sample.id then
      mine(nil, sample.params)
      read[name] = true
    elseif name == 'tool-call-request.json' then
      T.equal(mine(nil, sample.params).isError, true)
      read[name] = true
    elseif name == 'document-save-request.json' then
      T.equal(select(2, mine(nil, sample.params)).message, 'it is not open')
      read[name] = true
    end
  end
  local page = T.page()
  for _, part in ipairs({
    'I will look at the imports first.',
    '│ The file is small.',
    '`Edit src/main.rs`',
    '│ @@ -1,2 +1,2 @@',
    '`Assistant: Keep the old file as a backup?`',
    '> Leave the tests alone.',
    '*The connection broke — sent again in 3.0 s.*',
    '*The answer was cut at its token limit.*',
    'Failed: The provider answered 500 six times; try again later.',
    samples['completed-refusals.json'].params.refusals[1].tool,
  }) do
    T.has(page, part)
  end
  -- Whatever the server may send was sent.
  for _, row in ipairs(vim.json.decode(T.text(T.repository .. '/editors/methods.json'))) do
    if row.to == 'client' then
      assert(handlers[row.method], row.method .. ' has no handler')
      assert(
        vim.iter(read):any(function(name) return samples[name].method == row.method end),
        row.method .. ' was not read'
      )
    end
  end
end)

test(
  'a message goes to the notifier of the person as a whole, and is on the screen where no row is for it',
  {},
  function()
    local notify, got = vim.notify, {}
    vim.notify = function(...) got[#got + 1] = { ... } end
    vim.cmd('Aside nonsense')
    vim.notify = notify
    T.has(got[1][1], 'there is no :Aside nonsense; there are answer, ask')
    T.has(got[1][1], 'undo')
    T.equal({ got[1][2], got[1][3] }, { vim.log.levels.ERROR, { title = 'Aside' } })
    vim.o.cmdheight = 0
    vim.cmd('Aside undo')
    T.has(T.screen(), 'Aside: no turn was started here')
    T.equal(vim.api.nvim_get_mode().blocking, false, 'it waits for no key')
    vim.o.cmdheight = 1
  end
)

--- A language server inside Neovim that is slow, and has an error for each line with "bad" in it.
local function slow(dispatchers)
  local texts = {}
  local function check(uri)
    vim.defer_fn(function()
      local found = {}
      for number, line in ipairs(vim.split(texts[uri], '\n')) do
        local range = { start = { line = number - 1, character = 0 }, ['end'] = { line = number - 1, character = 3 } }
        if line:find('bad') then found[#found + 1] = { range = range, severity = 1, message = 'bad word' } end
      end
      dispatchers.notification('textDocument/publishDiagnostics', { uri = uri, diagnostics = found })
    end, 300)
  end
  local function notify(method, params)
    if method == 'textDocument/didOpen' then texts[params.textDocument.uri] = params.textDocument.text end
    if method == 'textDocument/didChange' then texts[params.textDocument.uri] = params.contentChanges[1].text end
    if method:find('did[OC][ph][ea]n') then check(params.textDocument.uri) end
    return true
  end
  local function request(method, _, done)
    done(nil, method == 'initialize' and { capabilities = { textDocumentSync = 1 } } or vim.NIL)
    return true, 1
  end
  local function never() return false end
  return { request = request, notify = notify, is_closing = never, terminate = function() end }
end

test('diagnostics are those of the text as it is: after an edit, and of a file that was not open', {
  files = { ['open.txt'] = 'bad one\nfine\n', ['closed.txt'] = 'bad one\nfine\n' },
  config = { settings = { conversation = { mode = 'edits', tools = { editor_diagnostics = { run = 'unattended' } } } } },
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "read_file", arguments = { path = "open.txt" } }]
[[reply]]
when = { step = 2 }
say = [{ call = "edit_file", arguments = { path = "open.txt", old_text = "bad one", new_text = "good one" } }]
[[reply]]
when = { step = 3 }
say = [{ call = "editor_diagnostics", id = "open", arguments = { path = "open.txt" } }]
[[reply]]
when = { step = 4 }
say = [{ call = "editor_diagnostics", id = "closed", arguments = { path = "closed.txt" } }]
[[reply]]
say = [{ text = "Done." }]
]=],
}, function()
  local function start(event) vim.lsp.start({ name = 'slow', cmd = slow }, { bufnr = event.buf }) end
  local watch = vim.api.nvim_create_autocmd('BufReadPost', { pattern = '*.txt', callback = start })
  vim.cmd.edit('open.txt')
  T.wait('it has an error', function() return #vim.diagnostic.get(0) == 1 end)
  T.ask('Aside ask go')
  vim.api.nvim_del_autocmd(watch)
  local got = {}
  for _, message in ipairs(T.sent) do
    if message.method == 'aside/tool/call' then got[#got + 1] = message.result.content end
  end
  T.equal(got, { 'There are none.', 'closed.txt:1:1: error: bad word' })
  for _, one in ipairs(vim.lsp.get_clients({ name = 'slow' })) do
    vim.lsp.stop_client(one.id, true)
  end
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
  T.has(T.page(), '│ There is no `nowhere/to/be/found.txt`; create it with write_file.')
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

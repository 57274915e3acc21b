local T = require('harness')
local test = T.test

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
  T.otherwise = 'Run, and exactly this again in this turn'
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
  T.picks(
    'Aside answer',
    "Run, and always all of Neovim's that only read: diagnostics, open_files, references, selection, symbols"
  )
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
  -- Who answered is on record: the person for the one tool, and the configuration for all others.
  local record = {}
  for _, event in ipairs(T.events('prompt_closed')) do
    record[event.outcome] = (record[event.outcome] or 0) + 1
  end
  T.equal(record, { permitted = 1, configured = 3 })
  local function is_always(event) return event.permission == 'always' end
  T.equal(#vim.tbl_filter(is_always, T.events('prompt_closed')), 1, 'and not again for the tool that was asked about')
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

test('other language servers are told of a file that changed on disk, and not of one that is open', {
  files = { ['open.txt'] = 'one\n', ['closed.txt'] = 'one\n' },
  config = { settings = { conversation = { mode = 'edits' } } },
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "read_file", arguments = { path = "open.txt" } }, { call = "read_file", arguments = { path = "closed.txt" } }]
[[reply]]
when = { step = 2 }
say = [
  { call = "edit_file", arguments = { path = "open.txt", old_text = "one", new_text = "two" } },
  { call = "edit_file", arguments = { path = "closed.txt", old_text = "one", new_text = "two" } },
]
[[reply]]
say = [{ text = "Done." }]
]=],
}, function()
  local told = {}
  local function cmd()
    local function request(method, _, done)
      done(nil, method == 'initialize' and { capabilities = {} } or vim.NIL)
      return true, 1
    end
    local function notify(method, params)
      if method == 'workspace/didChangeWatchedFiles' then told[#told + 1] = params.changes end
      return true
    end
    local function never() return false end
    return { request = request, notify = notify, is_closing = never, terminate = function() end }
  end
  vim.cmd.edit('open.txt')
  vim.lsp.start({ name = 'other', cmd = cmd, root_dir = T.workspace })
  T.ask('Aside ask go')
  T.equal(told, { { { uri = vim.uri_from_fname(T.workspace .. '/closed.txt'), type = 2 } } })
  vim.cmd('Aside undo')
  T.wait('it is told again', function() return #told == 2 end)
  T.equal(told[2][1].uri, vim.uri_from_fname(T.workspace .. '/closed.txt'))
  for _, one in ipairs(vim.lsp.get_clients({ name = 'other' })) do
    vim.lsp.stop_client(one.id, true)
  end
end)

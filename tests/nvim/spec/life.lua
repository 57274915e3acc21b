local T = require('harness')
local test = T.test

local function last_said(part)
  return T.wait(
    'it is said: ' .. part,
    function() return T.said[#T.said] and T.said[#T.said]:find(part, 1, true) and T.said[#T.said] end
  )
end

local function lives(pid) return vim.uv.kill(pid, 0) == 0 end

--- A server that runs lines of the shell before it begins. Gives back what waits for a start of it, and gives its process.
---@param lines string where `$start` is how often it was started
---@return fun(count: integer): integer
---@return string file
local function scripted(lines)
  local file, log = T.workspace .. '/program', T.workspace .. '/starts'
  vim.fn.writefile(
    vim.split(
      ([[
#!/bin/sh
[ "$1" = --version ] && exec '%s' --version
echo $$ >>'%s'
start="$(wc -l <'%s')"
%s
exec '%s' "$@"]]):format(T.aside, log, log, lines, T.aside),
      '\n'
    ),
    file
  )
  vim.uv.fs_chmod(file, 493)
  vim.g.aside = { server = file }
  local function start(count)
    local function pid() return vim.fn.filereadable(log) == 1 and tonumber(vim.fn.readfile(log)[count]) end
    return T.wait('start ' .. count, pid)
  end
  return start, file
end

--- It hears nothing: no message, no end of its input, and no signal that it may leave alone.
local HANGS = "trap '' TERM HUP; exec sleep 100000"

local ANSWERS = '[[reply]]\nrepeat = true\nsay = [{ text = "Here." }]'

--- Asks until somebody answers, and then goes on.
local GOES_ON = [=[
[[reply]]
when = { step = 1 }
repeat = true
say = [{ call = "ask_user", arguments = { question = "Go on?", answer_type = "boolean" } }]
[[reply]]
say = [{ text = "I went on." }]
]=]

test('nothing happens before a command is used', {}, function()
  T.equal(#vim.lsp.get_clients({ name = 'aside' }), 0)
  for name in pairs(package.loaded) do
    assert(not vim.startswith(name, 'aside'), name .. ' is loaded')
  end
  local before = vim.fn.getcompletion('', 'event')
  require('aside')
  T.equal(vim.fn.getcompletion('', 'event'), before)
  T.equal(#vim.lsp.get_clients({ name = 'aside' }), 0)
  T.equal(require('aside').status(), '')
end)

test('a server that is missing is said, with the reason for each place', { absent = true }, function()
  vim.cmd('Aside ask go')
  last_said('no server; :checkhealth aside says what to do; vim.g.')
  T.has(
    T.text(require('aside.log').path),
    'vim.g.aside.server (' .. vim.g.aside.server .. '): there is no such program'
  )
  vim.g.aside = nil
  vim.env.CARGO_HOME = T.workspace
  local path = vim.env.PATH
  vim.env.PATH = '/usr/bin:/bin'
  local found, reasons = require('aside.server').find()
  vim.env.PATH = path
  T.equal(found, nil)
  T.equal(reasons, {
    'PATH: there is no such program',
    ('where cargo installs (%s/bin/aside): there is no such program'):format(T.workspace),
    ('where :Aside install puts it (%s): there is no such program'):format(require('aside.server').kept()),
  })
end)

test('a program that is not the server is not started', { absent = true }, function()
  vim.g.aside = { server = '/bin/echo' }
  vim.cmd('Aside ask go')
  last_said('no server; :checkhealth aside says what to do; vim.g.')
  T.has(T.text(require('aside.log').path), 'did not print a version of aside')
end)

test('the server is found on PATH, and where cargo installs', {}, function()
  vim.g.aside = nil
  vim.fn.mkdir('bin')
  vim.uv.fs_symlink(T.aside, T.workspace .. '/bin/aside')
  local path = vim.env.PATH
  vim.env.PATH = T.workspace .. '/bin:' .. path
  T.equal(assert(require('aside.server').find()).source, 'PATH')
  package.loaded['aside.server'] = nil
  vim.env.PATH = '/usr/bin:/bin'
  vim.env.CARGO_HOME = T.workspace
  T.equal(assert(require('aside.server').find()).source, 'where cargo installs')
  vim.env.PATH = path
end)

test('no program is taken from where commands may write', { files = { ['deep/a.txt'] = 'one\n' } }, function()
  vim.g.aside = nil
  local path, home = vim.env.PATH, vim.env.HOME
  vim.env.CARGO_HOME = T.workspace .. '/none'
  local function finds(folder)
    package.loaded['aside.server'] = nil
    vim.fn.mkdir(folder, 'p')
    vim.fn.writefile({ '#!/bin/sh', 'echo aside 0.0.0' }, folder .. '/aside')
    vim.uv.fs_chmod(folder .. '/aside', 493)
    vim.env.PATH = folder .. ':/usr/bin:/bin'
    local found = require('aside.server').find()
    vim.env.PATH = path
    return found ~= nil
  end
  T.equal(finds(T.workspace .. '/.venv/bin'), false, 'in the current folder, without a repository')
  -- A repository within the one that is open.
  vim.fn.mkdir('deep/.git', 'p')
  vim.cmd.edit('deep/a.txt')
  local beside = vim.fs.dirname(T.workspace) .. '/beside'
  vim.fn.mkdir(beside, 'p')
  vim.cmd.cd(beside)
  vim.fn.mkdir(T.workspace .. '/.git', 'p')
  T.equal(finds(T.workspace .. '/bin'), false, 'above the repository of a file')
  T.equal(finds(beside .. '/../elsewhere/bin'), true)
  vim.fn.writefile({}, vim.fs.dirname(T.workspace) .. '/elsewhere/pyvenv.cfg')
  T.equal(finds(vim.fs.dirname(T.workspace) .. '/elsewhere/bin'), false, 'an environment of Python')
  T.equal(finds(vim.fs.dirname(T.workspace) .. '/x/node_modules/.bin'), false, 'a package of Node')
  vim.env.HOME = beside
  T.equal(finds(beside .. '/bin'), true, 'the home')
  vim.env.HOME, vim.env.PATH = home, path
  vim.cmd.cd(T.workspace)
end)

test('a configuration that is wrong is said, with the field', {}, function()
  local config = require('aside.config')
  local function wrong(given)
    vim.g.aside = given
    return select(2, config.read())
  end
  T.equal(wrong({ width = 'wide' }), { 'vim.g.aside.width: expected number, got "wide"' })
  T.equal(wrong({ server = 1 }), { 'vim.g.aside.server: expected string, got 1' })
  T.equal(wrong({ notify = 'no' }), { 'vim.g.aside.notify: expected boolean, got "no"' })
  T.equal(wrong({ keys = { accept = 1 } }), { 'vim.g.aside.keys.accept: expected a string or false, got 1' })
  T.equal(wrong({ keys = { accept = true } }), { 'vim.g.aside.keys.accept: expected a string or false, got true' })
  T.has(wrong({ withd = 1 })[1], 'vim.g.aside.withd: there is no such field; there are height, keys')
  T.has(wrong({ keys = { acept = 'a' } })[1], 'vim.g.aside.keys.acept: there is no such field; there are accept')
  T.equal(wrong({ sign = 'two+' }), { 'vim.g.aside.sign: expected at most two cells, got "two+"' })
  T.equal(wrong({ root_markers = { 1 } }), { 'vim.g.aside.root_markers: expected names of files' })
  T.equal(wrong('a'), { 'vim.g.aside: expected a table or a function that returns one, got string' })
  T.equal(wrong({ keys = { accept = false }, width = 50, server = '~/bin/aside' }), {})
  T.equal({ config.get().width, config.get().keys.accept, config.get().keys.reject }, { 50, false, 'gn' })
  vim.g.aside = function() return { width = 60 } end
  T.equal(config.get().width, 60)
  vim.g.aside = { width = 'wide' }
  T.equal(config.get().width, 80, 'the defaults count')
  last_said('vim.g.aside.width: expected number')
end)

test('a server that crashes comes back with what waits, and the turn goes on from there', {
  files = { ['a.txt'] = 'one\n' },
  script = [=[
[[reply]]
when = { step = 1 }
repeat = true
say = [{ text = "I ask." }, { call = "ask_user", arguments = { question = "Go on?", answer_type = "boolean" } }]
[[reply]]
when = { result = { tool = "ask_user", contains = "true" } }
say = [{ text = "I went on." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask go')
  T.prompts(1)
  local client = require('aside.client')
  local first = client.client
  vim.uv.kill(T.server(), 'sigkill')
  T.wait('it is back', function() return client.client and client.client ~= first end)
  T.has(T.page(), 'The server crashed. :Aside resume goes on.')
  T.equal(T.prompts(1)[1].resumable, true)
  assert(vim.lsp.buf_is_attached(0, client.client.id))
  T.equal(T.beside(), { '`Assistant: interrupted' })
  vim.cmd('Aside resume')
  T.wait('it waits again', function() return T.beside()[1] == '`Assistant: waits for you' end)
  T.choices = { 'Yes' }
  vim.cmd('Aside answer')
  T.asked()
  T.ended()
  T.has(T.page(), 'I went on.')
  T.equal(T.outcomes, { 'completed' })
  T.equal(T.beside(), { '`Assistant: yes (you)' })
end)

test('a message after an interruption takes back that the turn can be resumed', {
  script = [=[
[[reply]]
when = { user = "begin" }
say = [{ call = "ask_user", arguments = { question = "Go on?", answer_type = "boolean" } }]
[[reply]]
say = [{ text = "Done." }]
]=],
}, function()
  vim.cmd('Aside ask begin')
  T.prompts(1)
  vim.uv.kill(T.server(), 'sigkill')
  T.wait('it can be resumed', function() return T.page():find(':Aside resume goes on.', 1, true) end)
  T.ask('Aside ask something else')
  T.has(T.page(), 'something else\n\nDone.')
  T.lacks(T.page(), ':Aside resume')
end)

test('a text that a crash cut off stands there once when its turn goes on', {
  script = '[[reply]]\nrepeat = true\npiece_delay_ms = 60\nsay = [{ text = "I walk and walk.", pieces = 15 }]',
}, function()
  vim.cmd('Aside ask go')
  T.wait('a part of it is there', function() return T.page():find('I w') end)
  vim.uv.kill(T.server(), 'sigkill')
  T.wait('it can be resumed', function() return T.page():find(':Aside resume goes on.', 1, true) end)
  T.has(T.page(), 'I w')
  T.outcomes = {}
  vim.cmd('Aside resume')
  T.ended()
  T.equal(T.page(), '> go\n\nI walk and walk.')
end)

test('a server that crashes while nothing runs is back, and nothing is to be resumed', { script = ANSWERS }, function()
  T.ask('Aside ask go')
  vim.uv.kill(T.server(), 'sigkill')
  T.equal(last_said('is back'), 'Aside: the server crashed and is back')
end)

test('a call that was interrupted is one line when its turn goes on after Neovim has ended', {
  files = { ['a.txt'] = 'one\n' },
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "run_command", arguments = { command = "echo begun; sleep 1000" } }]
[[reply]]
say = [{ text = "I went on." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask go')
  T.prompts(1)
  T.picks('Aside answer', 'Run once')
  T.wait('it runs', function() return T.page():find('begun', 1, true) end)
  vim.cmd('Aside stop')
  T.wait('it is stopped', function() return not require('aside.client').alive() end)
  assert(require('aside.view').of()):forget()
  vim.cmd('Aside pane')
  T.wait('it is read', function() return T.page():find('Interrupted', 1, true) end)
  T.outcomes = {}
  vim.cmd('Aside resume')
  T.ended()
  T.has(T.page(), 'I went on.')
  local _, calls = T.page():gsub('`run_command`', '')
  T.equal(calls, 1, T.page())
end)

test('an answer to one question does not resume what was interrupted in another conversation', {
  script = GOES_ON,
}, function()
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.uv.kill(T.server(), 'sigkill')
  T.wait('it can be resumed', function()
    local open = require('aside.prompt').open()[1]
    return open and open.resumable
  end)
  vim.cmd('Aside! ask again')
  T.prompts(2)
  T.choices = { 'Yes' }
  vim.cmd('Aside answer')
  T.asked()
  T.ended()
  T.equal(T.prompts(1)[1].resumable, true)
  for _, message in ipairs(T.sent) do
    assert(message.method ~= 'aside/turn/resume', 'it was resumed')
  end
end)

test('a server that crashes again and again stays down', { script = '' }, function()
  local client = require('aside.client')
  local program, reply = T.workspace .. '/crashing', '{"jsonrpc":"2.0","id":1,"result":{"capabilities":{}}}'
  vim.fn.writefile({
    '#!/bin/sh',
    ('[ "$1" = --version ] && exec %s --version'):format(T.aside),
    -- It answers, and then it is gone.
    ("printf 'Content-Length: %d\\r\\n\\r\\n%s'"):format(#reply, reply),
    'read -r line; exit 3',
  }, program)
  vim.uv.fs_chmod(program, 493)
  vim.g.aside = { server = program }
  client.ready()
  last_said('the server crashed 6 times and stays down — :Aside ask')
  T.equal(client.client, nil)
  T.lacks(table.concat(T.said, '\n'), 'Check log for errors')
end)

test('the server is stopped, and starts with the next question', {
  script = '[[reply]]\nrepeat = true\nsay = [{ text = "Here." }]',
}, function()
  T.ask('Aside ask go')
  vim.cmd('Aside stop')
  T.says('the server was stopped; :Aside ask starts it')
  local client = require('aside.client')
  T.wait('it is stopped', function() return client.client == nil end)
  T.equal(require('aside').status(), '')
  require('aside.view').of():forget()
  vim.cmd('Aside')
  T.says('no answer is here yet — :Aside pane has the last conversation')
  T.ask('Aside! ask go')
  T.has(T.page(), 'Here.')
end)

test('a server that does not come up is stopped, and the next question starts another one', {
  script = ANSWERS,
}, function()
  local start = scripted(('[ "$start" = 1 ] && { %s; }'):format(HANGS))
  vim.cmd('Aside ask first')
  local hanging = start(1)
  for _, name in ipairs({ 'cancel', 'show', 'undo', 'answer', 'steer more' }) do
    vim.cmd('Aside ' .. name)
  end
  vim.cmd('Aside ask second')
  vim.cmd('Aside stop')
  vim.cmd('Aside ask third')
  T.ended()
  T.equal(lives(hanging), false)
  start(2)
  T.has(T.page(), 'third')
  T.lacks(T.page(), 'first')
  T.lacks(T.page(), 'second')
end)

test('a server that is not ready after half a minute is ended, and that is said', { script = ANSWERS }, function()
  local start = scripted(('[ "$start" = 1 ] && { %s; }'):format(HANGS))
  local later, defer = {}, vim.defer_fn
  vim.defer_fn = function(act, after) ---@diagnostic disable-line: duplicate-set-field
    if after == 30000 then later[#later + 1] = act end
    return defer(act, after)
  end
  vim.cmd('Aside ask go')
  vim.defer_fn = defer
  local hanging = start(1)
  vim.iter(later):each(function(act) act() end)
  last_said('the server did not start; see :LspLog — :checkhealth aside')
  T.equal(lives(hanging), false)
  T.has(T.text(require('aside.log').path), 'the server was not ready within 30 s, and was ended')
  T.ask('Aside ask again')
  T.has(T.page(), 'Here.')
end)

test('a server that hangs while it runs is stopped, and its turn can be resumed', { script = GOES_ON }, function()
  vim.cmd('Aside ask go')
  T.prompts(1)
  local pid, client = T.server(), require('aside.client')
  local first = client.client
  vim.uv.kill(pid, 'sigstop')
  vim.cmd('Aside stop')
  T.wait(
    'it is interrupted',
    function() return T.page():find('The server was stopped. :Aside resume goes on.', 1, true) end
  )
  vim.cmd('Aside resume')
  T.wait('it waits again', function()
    local open = require('aside.prompt').open()[1]
    return client.client ~= first and open and not open.resumable and require('aside.turn').running()
  end)
  T.equal(lives(pid), false)
  T.lacks(T.page(), ':Aside resume goes on.')
  T.choices = { 'Yes' }
  vim.cmd('Aside answer')
  T.asked()
  T.ended()
  T.has(T.page(), 'I went on.')
end)

test('a server that ends before it is ready again is not started once more', { script = ANSWERS }, function()
  local start = scripted('[ "$start" = 2 ] && exit 0')
  T.ask('Aside ask go')
  vim.uv.kill(start(1), 'sigkill')
  last_said('the server did not start; see :LspLog — :checkhealth aside')
  T.equal(require('aside.client').client, nil)
  T.ask('Aside! ask again')
  start(3)
  T.has(T.page(), 'Here.')
end)

test('what was interrupted is said once, never over an error, and listed where an answer is looked for', {
  script = GOES_ON,
}, function()
  local function starts_anew()
    T.wait('it is stopped', function() return not require('aside.client').alive() end)
    for name in pairs(package.loaded) do
      if vim.startswith(name, 'aside') and name ~= 'aside.shown' then package.loaded[name] = nil end
    end
  end
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside stop')
  starts_anew()
  require('aside.client').ready()
  T.says('what was interrupted waits for you — :Aside resume')
  vim.cmd('Aside stop')
  T.wait('it is stopped', function() return not require('aside.client').alive() end)
  T.said = {}
  require('aside.client').ready()
  T.prompts(1)
  T.answered()
  T.equal(T.said, {})
  vim.cmd('Aside show')
  T.says('no answer is here, but a turn was interrupted — :Aside resume')
  T.picks('Aside answer', false)
  vim.cmd('Aside stop')
  starts_anew()
  require('aside.log').fail('a setting is wrong')
  T.said = {}
  require('aside.client').ready()
  T.prompts(1)
  T.answered()
  T.equal(T.said, {})
end)

test('after a crash in a turn the pane names the model again', { script = GOES_ON }, function()
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside pane')
  local win = vim.fn.win_findbuf(require('aside.view').of().buf)[1]
  local function names() return vim.wo[win].winbar:find('script.toml', 1, true) end
  T.wait('it is named', names)
  local client = require('aside.client')
  local first = client.client
  vim.uv.kill(T.server(), 'sigkill')
  T.wait('it is back', function() return client.client and client.client ~= first end)
  T.wait('it is named again', names)
end)

test('a server that crashes while its question is on the screen asks it again', { script = GOES_ON }, function()
  vim.cmd('Aside ask go')
  T.prompts(1)
  T.choices = {
    function()
      local client = require('aside.client')
      local first = client.client
      vim.uv.kill(T.server(), 'sigkill')
      T.wait('it is back', function() return client.client and client.client ~= first end)
      T.prompts(1)
      return 'Yes'
    end,
  }
  vim.cmd('Aside answer')
  last_said('the server ended meanwhile; :Aside resume asks this again')
  T.equal(T.prompts(1)[1].resumable, true)
  T.picks('Aside answer', function(texts)
    T.has(texts[1], 'go · ')
    return texts[1]
  end)
  T.wait('it is asked again', function() return not T.prompts(1)[1].resumable end)
  T.choices = { 'Yes' }
  vim.cmd('Aside answer')
  T.asked()
  T.ended()
  T.has(T.page(), 'I went on.')
end)

test('Neovim that is left while its server starts, or hangs, leaves no process behind', {}, function()
  local start, file = scripted('[ -e "$0.goes" ] || { ' .. HANGS .. '; }')
  local function leave(count, before)
    local socket = ('%s/socket%d'):format(T.workspace, count)
    local command = { vim.v.progpath, '--clean', '--headless', '--listen', socket, '--cmd', 'set rtp^=' .. T.plugin }
    local server = ("lua vim.g.aside = { server = '%s' }"):format(file)
    local nvim = vim.system(vim.list_extend(command, { '-c', server, '-c', 'Aside ask go' }))
    local pid = start(count)
    local channel = vim.fn.sockconnect('pipe', socket, { rpc = true })
    before(channel, pid)
    vim.fn.rpcnotify(channel, 'nvim_command', 'qa!')
    T.equal(nvim:wait(20000).code, 0)
    T.wait('its end', function() return not lives(pid) end)
  end
  leave(1, function() end)
  vim.fn.writefile({}, file .. '.goes')
  leave(2, function(channel, pid)
    T.wait(
      'it is ready',
      function() return vim.fn.rpcrequest(channel, 'nvim_exec_lua', "return require('aside.client').client ~= nil", {}) end
    )
    vim.uv.kill(pid, 'sigstop')
  end)
end)

test('buffers that are opened later, in another folder and without a file type are known to the server', {
  files = { ['a.txt'] = 'one\n', ['noext'] = 'x\n', ['other/.git/x'] = '', ['other/b.txt'] = 'two\n' },
  script = '[[reply]]\nwhen = { attached = "typed" }\nsay = [{ text = "Seen." }]\n[[reply]]\nsay = [{ text = "First." }]',
}, function()
  vim.cmd.edit('a.txt')
  T.ask('Aside ask go')
  T.has(T.page(), 'First.')
  vim.cmd.edit('other/b.txt')
  vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'typed' })
  local client = require('aside.client').client
  assert(client and vim.lsp.buf_is_attached(0, client.id))
  T.equal(#client.workspace_folders, 2)
  vim.cmd.split('noext')
  assert(vim.lsp.buf_is_attached(0, client.id))
  T.ask('Aside! ask @other/b.txt')
  T.has(T.page(), 'Seen.')
end)

if vim.fn.has('nvim-0.11') == 1 then
  test('vim.lsp.enable starts it with the first file, as vim.lsp.config says', {
    files = { ['a.lua'] = 'one\n' },
    script = '',
  }, function()
    vim.lsp.config('aside', { settings = { aside = { config = { conversation = { mode = 'plan' } } } } })
    vim.lsp.enable('aside')
    vim.cmd.edit('a.lua')
    vim.bo.filetype = 'lua'
    local client = T.wait('it runs', function() return require('aside.client').client end)
    T.wait('it is attached', function() return vim.lsp.buf_is_attached(0, client.id) end)
    T.equal(client.settings.aside.config.conversation.mode, 'plan')
    T.equal(#vim.lsp.get_clients({ name = 'aside' }), 1)
    vim.lsp.enable('aside', false)
  end)
end

test('checkhealth says what is there and what to do', {
  files = { ['a.txt'] = 'one\n' },
  script = '[[reply]]\nsay = [{ text = "Here." }]',
  untrusted = true,
}, function()
  vim.cmd.edit('a.txt')
  local function check()
    vim.cmd('silent checkhealth aside')
    local text = T.buffer(vim.api.nvim_get_current_buf())
    vim.cmd('tabclose')
    return text
  end
  T.ask('Aside ask go')
  T.wait('the server has looked at the configuration', function()
    local status = require('aside.client').status
    return status and status.health == 'warning'
  end)
  local text = check()
  for _, part in ipairs({
    'vim.g.aside is as it should be',
    ('%s, version'):format(T.aside),
    'found by vim.g.aside.server',
    'state directory',
    'the server runs for ' .. T.workspace,
    'is not trusted, so only tools',
    ':Aside trust shows what trust means',
    'model: rehearsal/',
    'aside.log',
    'lsp.log',
  }) do
    T.has(text, part)
  end
  -- What to do is said once, and as it is done here.
  for _, part in ipairs({ 'aside trust', '--trust', 'terminal', 'editors' }) do
    T.lacks(text, part)
  end
  T.equal(select(2, text:gsub('not trusted', '')), 1)
  vim.g.aside = { server = '/nowhere/aside', widht = 3 }
  text = check()
  T.has(text, 'ERROR vim.g.aside.widht: there is no such field')
  T.has(text, 'ERROR vim.g.aside')
end)

test('the server knows at once what was typed', {
  files = { ['a.txt'] = 'one\n' },
  script = '[[reply]]\nsay = [{ text = "Done." }]',
}, function()
  vim.cmd.edit('a.txt')
  T.ask('Aside ask go')
  T.sent = {}
  T.press('xx')
  local methods = vim.tbl_map(function(message) return message.method end, T.sent)
  assert(vim.tbl_contains(methods, 'textDocument/didChange'), vim.inspect(methods))
end)

local T = require('harness')
local test = T.test

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
  local function second(texts) return texts[2] end
  vim.env.TZ = 'UTC'
  samples['conversation-read-result.json'].result.next = nil
  T.picks('Aside conversations', function(texts)
    T.equal(texts, {
      '2025-05-30 09:02 · Tidy the imports · 3 turns · $0.09 · waiting',
      '2025-05-29 17:01 · Why are imports sorted? · 1 turn',
    })
    return texts[1]
  end)
  T.has(
    T.page(),
    '> Tidy the imports of src/main.rs\n> (with src/main.rs:1-2 · notes, 1 line)\n\nI will look at the imports first.\n\n`read_file`'
  )
  vim.cmd('Aside hide')
  T.picks('Aside rename', second, 'Sorting')
  T.equal(asked['aside/conversation/rename'], { conversationId = 'c-1b7', title = 'Sorting' })
  T.picks('Aside delete', second, 'Delete it for good')
  T.equal(asked['aside/conversation/delete'], { conversationId = 'c-1b7' })
  T.picks('Aside fork', second)
  vim.cmd('Aside hide')
  T.picks('Aside ledger', second)
  T.equal(asked['aside/conversation/ledger'], { conversationId = 'c-1b7' })
  T.has(T.screen(), 'turn 1: Tidy the imports of src/main.rs')
  require('aside.page').close('ledger')
  T.picks('Aside model', function(texts)
    T.equal(texts, { 'anthropic/claude-opus-5-5 · $4 in, $20 out', 'mine/tiny' })
    return texts[2]
  end)
  local shown
  local page = require('aside.page')
  page.ask = function(_, _, lines, _, act)
    shown = table.concat(lines, '\n')
    act()
  end
  T.picks('Aside trust', 'Trust this folder')
  for _, part in ipairs({
    'tool lint: sh tools/lint.sh',
    'MCP server db: bin/db db.ini with DB_KEY',
    'MCP server docs: https://docs.example.org/mcp',
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
  local turn = require('aside.turn')
  turn.complete({ turnId = turn.running().id, outcome = 'cancelled', refusals = {} })
  vim.cmd('Aside undo')
  T.says('removed /home/ada/demo/src/main.rs; what its commands')
  require('aside.turn').resume({ conversationId = 'c-2f1' })
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
      -- Its line is in another sample.
      T.wait('it is open', function() return #require('aside.prompt').open() == 1 end)
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

test('what is said in one sentence has room in the last row of 80 columns', {}, function()
  local room = 68 -- with columns for what is typed, which Neovim keeps free
  local count = 0
  for name in vim.fs.dir(T.plugin .. '/lua/aside') do
    local source = T.text(T.plugin .. '/lua/aside/' .. name)
    for call in source:gmatch('log%.%a+(%b())') do
      local hint, texts = '', {}
      for text in call:gmatch("'(.-)'") do
        if vim.startswith(text, ' — ') then hint = text end
        if not vim.startswith(text, ' — ') and not text:find('Msg$') then texts[#texts + 1] = text end
      end
      for _, text in ipairs(texts) do
        count = count + 1
        local whole = 'Aside: ' .. text .. hint
        if vim.fn.strdisplaywidth(whole) > room then T.fail(name .. ': ' .. whole) end
      end
    end
    for text, hint in source:gmatch("give_up%(%(?'(.-)'.-'( — .-)'%)") do
      count = count + 1
      T.equal(vim.fn.strdisplaywidth('Aside: ' .. text .. hint) <= room, true, text)
    end
  end
  assert(count > 40, 'only ' .. count .. ' sentences were found')
end)

test('a message goes to the notifier of the person as a whole, be it a function or a table', {}, function()
  local notify, got = vim.notify, {}
  local function keep(...) got[#got + 1] = { ... } end
  for _, notifier in ipairs({ keep, setmetatable({}, { __call = function(_, ...) keep(...) end }) }) do
    vim.notify = notifier
    vim.cmd('Aside nonsense')
    vim.notify = notify
    local last = table.remove(got)
    T.has(last[1], 'there is no :Aside nonsense; there are answer, ask')
    T.has(last[1], 'undo')
    T.equal({ last[2], last[3] }, { vim.log.levels.ERROR, { title = 'Aside' } })
    vim.notify = notifier
    require('aside.log').say('it waits', 'AsideWaiting')
    vim.notify = notify
    T.equal(table.remove(got)[3], { title = 'Aside', id = 'aside.waiting' })
  end
end)

test('a message is on the screen where no row is for it, waits for no key, and is kept whole', {}, function()
  for _, rows in ipairs({ 1, 0 }) do
    vim.cmd('messages clear')
    vim.o.cmdheight, T.loud = rows, true
    vim.cmd('Aside nonsense')
    T.loud = false
    T.has(rows == 0 and T.screen() or T.said[#T.said], 'Aside: there is no :Aside nonsense')
    T.equal(vim.api.nvim_get_mode().blocking, false, 'it waits for no key')
    T.has(vim.fn.execute('messages'):gsub('\n', ' '), 'steer, stop, trust, undo')
  end
  vim.o.cmdheight = 1
end)

test('the hint of a message is whole, also where the ruler of a float is beside it', {}, function()
  local place = { relative = 'editor', row = 1, col = 1, width = 9, height = 3 }
  local win = vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), true, place)
  T.loud = true
  require('aside.log').say(('word '):rep(40), nil, ' — :Aside answer')
  T.loud = false
  T.has(T.screen(), '… — :Aside answer ')
  vim.api.nvim_win_close(win, true)
end)

test('the ruler of a float is gone with it, and a message beside it stays', {
  script = '[[reply]]\nrepeat = true\nsay = [{ text = "Done." }]',
}, function()
  T.loud = true
  T.ask('Aside ask go')
  local function last_row() return vim.trim(T.screen():match('[^\n]*$')) end
  for _, message in ipairs({ '', 'it is said' }) do
    vim.cmd('Aside')
    vim.api.nvim_echo({ { '' } }, false, {})
    if message ~= '' then require('aside.log').say(message) end
    T.draw()
    T.has(last_row(), '3,1')
    T.press('q')
    T.wait('the ruler is gone', function() return not last_row():find('3,1', 1, true) end)
    T.has(last_row(), message)
    vim.cmd('Aside show')
    vim.cmd('wincmd w')
  end
  T.loud = false
end)

test('a message goes to a plugin to which Neovim gives them, and no row is made for it', {}, function()
  local got, before = {}, #vim.api.nvim_list_wins()
  local namespace = vim.api.nvim_create_namespace('external')
  vim.ui_attach(namespace, { ext_messages = true }, function(event, _, content)
    if event == 'msg_show' then got[#got + 1] = content[1] and content[1][2] end
  end)
  T.loud = true
  vim.cmd('Aside nonsense')
  T.loud = false
  T.equal(vim.api.nvim_get_mode().blocking, false, 'it waits for no key')
  vim.ui_detach(namespace)
  T.has(table.concat(got, '\n'), 'steer, stop, trust, undo')
  T.equal(#vim.api.nvim_list_wins(), before)
  vim.o.cmdheight = 1
end)

test('a turn shows its progress as other language servers do', {
  script = '[[reply]]\nsay = [{ text = "I answer." }]\ndelay_ms = 200',
}, function()
  local kinds, title = {}, nil
  local watch = vim.api.nvim_create_autocmd('LspProgress', {
    callback = function(event)
      local value = event.data.params.value
      kinds[#kinds + 1], title = value.kind, title or value.title
    end,
  })
  T.ask('Aside ask go')
  T.wait('it is over', function() return kinds[#kinds] == 'end' end)
  vim.api.nvim_del_autocmd(watch)
  T.equal({ kinds[1], title }, { 'begin', 'Aside: go' })
end)

local T = require('harness')
local test = T.test

local TALK = '[[reply]]\nrepeat = true\nsay = [{ text = "I answer." }]'

--- Opens the pane, and waits until the cursor is in the message.
local function opens(command)
  vim.cmd(command or 'Aside pane')
  T.wait('the message is there', function() return vim.bo.filetype == 'aside-message' end)
end

--- Types, as a person does, with whatever is mapped.
local function type_keys(keys) vim.api.nvim_feedkeys(vim.keycode(keys), 'xt', false) end

--- The winbar of the window with the message, or of that above it.
local function bar(above)
  local win = above and vim.fn.win_getid(vim.fn.winnr('k')) or vim.api.nvim_get_current_win()
  return vim.trim(vim.api.nvim_eval_statusline(vim.wo[win].winbar, { winid = win, use_winbar = true }).str)
end

local function sends(keys)
  T.outcomes = {}
  type_keys(keys)
  T.ended()
end

local function lines() return vim.api.nvim_buf_get_lines(0, 0, -1, true) end

test('one command opens the pane and closes it; a message of several lines is written there and sent', {
  files = { ['a.txt'] = 'one\n' },
  script = '[[reply]]\nwhen = { user = "/^one\\ntwo$/" }\nsay = [{ text = "Both." }]',
}, function()
  vim.cmd.edit('a.txt')
  opens()
  T.has(T.screen(), '@file goes along · /command · <CR> sends')
  sends('ione<CR>two<Esc><CR>')
  T.equal(T.page(), '> one\n> two\n\nBoth.')
  T.equal(lines(), { '' })
  vim.cmd('Aside pane')
  T.wait('it is closed', function() return #vim.api.nvim_list_wins() == 1 end)
  T.equal(vim.fn.bufname(), 'a.txt')
  local code = vim.api.nvim_get_current_win()
  vim.wo[code].number = true
  opens()
  T.equal(T.page(), '> one\n> two\n\nBoth.', 'the same conversation')
  T.equal(vim.wo[assert(require('aside.view').visible()):window()].number, false)
  vim.wo[code].number = false
  vim.cmd('quit')
  T.wait('both windows are closed', function() return #vim.api.nvim_list_wins() == 1 end)
end)

test('what does not come to the server stays: a message in its box and its history, lines as they were', {
  files = { ['a.txt'] = 'one\ntwo\n' },
  absent = true,
}, function()
  vim.cmd.edit('a.txt')
  opens()
  type_keys('ihello<CR>there<Esc><CR>')
  T.says('no server')
  T.equal(lines(), { 'hello', 'there' })
  type_keys('dd0dd')
  type_keys('<Up>')
  T.equal(lines(), { 'hello', 'there' })
  vim.cmd('Aside hide')
  vim.cmd('2Aside rewrite shorten this')
  T.lacks(T.screen(), 'is being rewritten')
end)

test('the message grows with its lines, and is sent in insert mode, too', { script = TALK }, function()
  opens()
  T.equal(vim.api.nvim_win_get_height(0), 3)
  type_keys('i1<CR>2<CR>3<CR>4<CR>5')
  vim.api.nvim_exec_autocmds('TextChangedI', { buffer = 0 })
  T.equal(vim.api.nvim_win_get_height(0), 5)
  sends('A6<C-s>')
  T.has(T.page(), '> 1\n> 2\n> 3\n> 4\n> 56\n\nI answer.')
end)

test('earlier messages come back, the newest first, also in another Neovim', { script = TALK }, function()
  T.ask('Aside ask from the command line')
  T.ask('Aside! ask something else')
  opens()
  sends('iand<CR>more<Esc><CR>')
  type_keys('ia draft<Up>')
  T.equal(lines(), { 'and', 'more' })
  type_keys('gg<Up>')
  T.equal(lines(), { 'something else' })
  type_keys('<Up>')
  T.equal(lines(), { 'from the command line' })
  type_keys('<Up>')
  T.equal(lines(), { 'from the command line' }, 'there is none before it')
  type_keys('<Down><Down>')
  T.equal(lines(), { 'and', 'more' })
  type_keys('<Down>')
  T.equal(lines(), { 'a draft' })
  local kept = vim.fn.stdpath('state') .. '/aside-messages'
  T.equal(vim.fn.getfperm(kept), 'rw-------')
  T.equal(vim.fn.readfile(kept), { '"from the command line"', '"something else"', '"and\\nmore"' })
end)

test('what goes along is listed above the message, is what its words name, and is gone with them', {
  files = { ['a.txt'] = 'one\ntwo\nthree\n', ['b.txt'] = 'bee\n' },
  script = [=[
[[reply]]
when = { attached = "/a.txt(.|\n)*two\nthree/" }
say = [{ text = "I see." }]
]=],
}, function()
  vim.o.columns = 200
  vim.cmd.edit('a.txt')
  opens('2,3Aside pane')
  T.equal(lines(), { '@a.txt:2-3 ' })
  T.equal(bar(), 'a.txt:2-3')
  type_keys('Awith @b.txt, @nothing and @quickfix<Esc>')
  vim.api.nvim_exec_autocmds('TextChanged', { buffer = 0 })
  T.equal(bar(), 'a.txt:2-3 · b.txt · quickfix · nothing for @nothing')
  type_keys('0fwD')
  vim.api.nvim_exec_autocmds('TextChanged', { buffer = 0 })
  T.equal(bar(), 'a.txt:2-3')
  sends('<CR>')
  T.equal(T.page(), '> @a.txt:2-3\n> (with a.txt:2-3)\n\nI see.')
  T.equal(bar(), 'nothing goes along')
  vim.o.columns = 80
end)

test('the winbar has the title, the model, the mode, the cost and how full the context is', {
  config = { settings = { conversation = { mode = 'plan' } } },
  script = [=[
[[reply]]
when = { turn = 1, step = 1 }
say = [{ call = "read_file", arguments = { path = "a.txt" } }]
usage = { input = 1000, cost = 0.5 }
[[reply]]
when = { turn = 1, step = 2 }
say = [{ text = "Here." }]
usage = { input = 2000, output = 500, cost = 0.25 }
[[reply]]
say = [{ text = "There." }]
usage = { input = 4000, output = 5, cost = 0.125 }
]=],
  files = { ['a.txt'] = 'one\n' },
}, function()
  opens()
  sends('ihow<Esc><CR>')
  local model = vim.fs.basename(vim.env.ASIDE_ASSISTANT__MODEL)
  local view = assert(require('aside.view').visible())
  T.equal(view:facts(), model .. ' · plan · $0.7500')
  view.spent.window = 10000
  T.equal(view.spent.context, 2500)
  T.equal(view:facts(), model .. ' · plan · $0.7500 · 25 % of 10k')
  sends('iand<Esc><CR>')
  T.equal(view:facts(), model .. ' · plan · $0.8750 · 41 % of 10k')
  T.has(vim.wo[assert(view:window())].winbar, ' how%=')
  -- Of a title that has no room its beginning is there, and the model gives way before what changes.
  view.title = ('how long '):rep(20)
  view:redraw()
  T.has(T.screen():match('[^\n]*'), '… ')
  T.has(T.screen():match('[^\n]*'), '$0.8750 · 41 % of 10k')
  T.equal(view:facts(30), 'plan · $0.8750 · 41 % of 10k')
  T.equal(view:facts(20), '41 % of 10k')
  view.title = 'how'
  vim.cmd('Aside mode edits')
  T.has(view:facts(), ' · edits · ')
  -- As it was, read from the log.
  vim.cmd('Aside hide')
  local page = T.page()
  view:forget()
  opens()
  T.wait('it is read', function() return T.page() ~= '' end)
  T.equal(T.page(), page)
  view = assert(require('aside.view').visible())
  T.equal(view:facts(), model .. ' · edits · $0.8750')
  T.equal(view.spent.context, 4005)
end)

test('after a restart the pane has the last conversation, as it was', {
  files = { ['a.txt'] = 'one\n' },
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ reasoning = "I think." }, { text = "I look." }, { call = "read_file", arguments = { path = "a.txt" } }, { call = "read_file", arguments = { path = "b.txt" } }]
[[reply]]
say = [{ text = "It is one." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  T.ask('Aside ask what is it')
  local page, beside = T.page(), T.beside()
  vim.cmd('Aside stop')
  T.wait('it is stopped', function() return require('aside.client').client == nil end)
  require('aside.view').of():forget()
  vim.cmd('Aside pane')
  T.equal(vim.bo.filetype, 'aside-message', 'at once, while the server starts')
  T.wait('it is read', function() return T.page() ~= '' end)
  -- Why a call failed is said below it where no room is beside it.
  T.equal(T.page():gsub('  There is no[^\n]*\n', ''), page)
  local function begins(text) return text:sub(1, 30) end
  T.equal(vim.tbl_map(begins, T.beside()), vim.tbl_map(begins, beside))
  opens('Aside! pane')
  T.equal(T.page(), '', 'a new one')
end)

test('a turn that goes on is shown in the pane that is open, and says no more that it was interrupted', {
  script = [=[
[[reply]]
when = { step = 1 }
times = 2
say = [{ call = "ask_user", arguments = { question = "Go on?", answer_type = "boolean" } }]
[[reply]]
repeat = true
say = [{ text = "I went on." }]
]=],
}, function()
  vim.cmd('Aside ask one')
  T.prompts(1)
  vim.cmd('Aside! ask two')
  T.prompts(2)
  vim.cmd('Aside stop')
  T.wait('it is stopped', function() return not require('aside.client').alive() end)
  opens()
  local windows, before = #vim.api.nvim_list_wins(), require('aside.view').visible()
  vim.cmd('wincmd h')
  local win = vim.api.nvim_get_current_win()
  T.picks('Aside answer', function(texts)
    local other = before.title == 'one' and 'two' or 'one'
    return vim.iter(texts):find(function(text) return vim.startswith(text, other) end)
  end)
  T.wait('it waits again', function()
    local first = require('aside.prompt').open()[1]
    return first and not first.resumable
  end)
  T.equal(#vim.api.nvim_list_wins(), windows)
  T.equal(vim.api.nvim_get_current_win(), win, 'the cursor stays')
  T.wait('it is said no more', function() return not T.page():find('goes on.', 1, true) end)
  local pane = vim.fn.win_findbuf(require('aside.view').visible().buf)[1]
  T.wait('the pane says so', function() return vim.wo[pane].winbar:find('waits for you · ', 1, true) end)
  T.picks('Aside answer', 'Yes')
  T.ended()
  T.lacks(vim.wo[pane].winbar, 'waits')
end)

test(
  'a model that says nothing for long is seen to do so',
  { script = '[[reply]]\nfault = { stall = true }' },
  function()
    vim.cmd('Aside ask go')
    T.wait('it runs', function() return T.screen():find('working · :Aside goes here', 1, true) end)
    local view = require('aside.view').visible()
    view.changed = view.changed - 20000
    T.wait('it is said', function() return T.screen():find('nothing for 2%d s · :Aside goes here') end)
  end
)

test('what was said while a text was written stands below that, also when it is read again', {
  script = [=[
[[reply]]
when = { step = 1 }
piece_delay_ms = 60
say = [{ text = "I walk and walk. I go on.", pieces = 15 }]
[[reply]]
say = [{ text = "I turned." }]
]=],
}, function()
  vim.cmd('Aside ask go')
  T.wait('a word is there', function() return T.page():find('I w') end)
  vim.cmd('Aside steer left')
  T.ended()
  local page = T.page()
  require('aside.view').of():forget()
  vim.cmd('Aside pane')
  T.wait('it is read', function() return T.page() ~= '' end)
  T.equal(page, '> go\n\nI walk and walk. I go on.\n\n> left\n\nI turned.')
  T.equal(T.page(), page)
end)

--- A Neovim of its own, with what a person types.
---@return fun(method: string, ...): any call
---@return fun() close
local function another()
  local command = { vim.v.progpath, '--clean', '-n', '--embed', '--headless', '--cmd', 'set rtp^=' .. T.plugin }
  vim.list_extend(command, { '--cmd', ("let g:aside = {'server': '%s'}"):format(T.aside) })
  local channel = vim.fn.jobstart(command, { rpc = true })
  return function(method, ...) return vim.rpcrequest(channel, method, ...) end, function() vim.fn.jobstop(channel) end
end

test('the pane is opened to write in insert mode, and to look in normal mode', { script = TALK }, function()
  local call, close = another()
  local function mode() return call('nvim_get_mode').mode end
  call('nvim_input', ':Aside pane<CR>hello')
  T.wait('it is written', function() return call('nvim_get_current_line') == 'hello' end)
  T.equal(mode(), 'i')
  call('nvim_input', '<C-s>')
  local over = "local view = require('aside.view').of() return view.conversation ~= nil and not view.busy"
  T.wait('it is answered', function() return call('nvim_exec_lua', over, {}) end)
  call('nvim_input', ':Aside pane<CR>:Aside show<CR>P')
  T.wait('it is in the pane', function() return call('nvim_get_option_value', 'filetype', {}) == 'aside-message' end)
  T.equal(mode(), 'n')
  close()
end)

test(
  'what is not sent yet is there again after Neovim was killed, and gone when it was sent',
  { script = TALK },
  function()
    local call, close = another()
    T.ask('Aside ask hello')
    call('nvim_input', ':Aside pane<CR>')
    local function reads() return call('nvim_exec_lua', "return require('aside.view').of().conversation ~= nil", {}) end
    T.wait('it is read', reads)
    call('nvim_input', 'a long<CR>draft')
    local kept = vim.fn.stdpath('state') .. '/aside-drafts'
    T.wait(
      'it is kept',
      function() return vim.fn.filereadable(kept) == 1 and T.text(kept):find('a long\\ndraft', 1, true) end
    )
    vim.uv.kill(call('nvim_call_function', 'getpid', {}), 'sigkill')
    close()
    call, close = another()
    call('nvim_input', ':Aside pane<CR>')
    local function written() return table.concat(call('nvim_buf_get_lines', 0, 0, -1, true), '|') end
    T.wait('it is there', function() return written() == 'a long|draft' end)
    call('nvim_input', '<C-s>')
    T.wait('it is sent', function() return written() == '' end)
    T.lacks(T.text(kept), 'draft')
    close()
  end
)

test('a session opens the pane again, with the conversation that it had', {
  files = { ['a.txt'] = 'one\n' },
  script = TALK,
}, function()
  vim.cmd.edit('a.txt')
  T.ask('Aside ask hello')
  opens()
  local page = T.page()
  vim.cmd('wincmd h | mksession! session.vim')
  T.has(T.text('session.vim'), '\nsilent file aside://')
  T.lacks(T.text('session.vim'), '\nfile aside://')
  require('aside.view').of():forget()
  T.ask('Aside! ask another')
  require('aside.view').of():forget()
  vim.cmd('source session.vim')
  T.wait('it is read', function() return T.page() ~= '' end)
  vim.g.aside_conversation = nil
  T.equal(T.page(), page)
  T.equal(vim.fn.bufname(), 'a.txt', 'the cursor stays in the code')
  local names = vim.tbl_map(
    function(win) return vim.bo[vim.api.nvim_win_get_buf(win)].filetype end,
    vim.api.nvim_list_wins()
  )
  T.equal(names, { 'text', 'aside', 'aside-message' })
end)

test('a conversation is summarised, that on the screen or one that is picked', {
  files = { ['a.txt'] = 'one\n' },
  script = TALK,
}, function()
  vim.cmd.edit('a.txt')
  opens()
  sends('ihello<Esc><CR>')
  sends('i/compact keep the names<Esc><CR>')
  T.has(T.page(), '> /compact keep the names\n\n')
  vim.cmd('Aside hide')
  T.outcomes = {}
  T.picks('Aside compact', function(items) return items[1] end)
  T.ended()
  T.equal(#T.events('compacted'), 2)
end)

test('a message that begins with the name of a command is done at once', { script = TALK }, function()
  opens()
  sends('ihello<Esc><CR>')
  type_keys('i/mode plan<Esc><CR>')
  T.says('the next turns have mode plan')
  T.equal(lines(), { '' })
  T.choices = { 'Another title' }
  type_keys('i/rename<Esc><CR>')
  T.asked()
  sends('i/usr/bin is a folder<Esc><CR>')
  T.has(T.page(), '> /usr/bin is a folder\n\nI answer.')
end)

test('what is written in the pane while a turn runs there is said to that turn', {
  script = [=[
[[reply]]
when = { user = "begin", step = 1 }
say = [{ call = "ask_user", arguments = { question = "Go on?", answer_type = "boolean" } }]
[[reply]]
when = { user = "left" }
say = [{ text = "Steered." }]
]=],
}, function()
  opens()
  type_keys('ibegin<Esc><CR>')
  T.prompts(1)
  type_keys('irather left<Esc><CR>')
  T.answered()
  T.picks('Aside answer', 'Yes')
  T.ended()
  T.has(T.page(), '> rather left')
  T.has(T.page(), 'Steered.')
end)

test('the pane may be a float, which a change does not stand under', {
  config = { pane = 'float' },
  files = { ['a.txt'] = 'one\n' },
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "read_file", arguments = { path = "a.txt" } }]
[[reply]]
when = { step = 2 }
say = [{ call = "edit_file", arguments = { path = "a.txt", old_text = "one", new_text = "two" } }]
[[reply]]
say = [{ text = "Done." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  opens()
  T.equal(vim.api.nvim_win_get_config(0).relative, 'editor')
  type_keys('igo<Esc><CR>')
  T.prompts(1)
  vim.cmd('Aside answer')
  T.equal(#vim.api.nvim_list_wins(), 1)
  T.has(T.screen(), '+ two')
  T.press('gy')
  T.ended()
  T.wait('it is back', function() return #vim.api.nvim_list_wins() == 3 end)
  T.equal(vim.fn.bufname(), 'a.txt', 'the cursor stays in the code')
end)

test('words of a message are completed, for the omnifunc, blink.cmp and nvim-cmp', {
  files = { ['one.txt'] = '', ['other/two.txt'] = '' },
  script = TALK,
}, function()
  local complete = require('aside.complete')
  opens()
  local function omni(text)
    vim.api.nvim_buf_set_lines(0, 0, -1, true, { text })
    vim.cmd('startinsert!')
    vim.api.nvim_win_set_cursor(0, { 1, #text })
    local start = complete.omnifunc(1, '')
    if start < 0 then return {} end
    vim.api.nvim_win_set_cursor(0, { 1, start })
    return vim.tbl_map(function(item) return item.word end, complete.omnifunc(0, text:sub(start + 1)))
  end
  T.equal(omni('see @di'), { '@diagnostics', '@diff' })
  T.equal(omni('@o'), { '@one.txt', '@other/' })
  T.equal(omni('@other/'), { '@other/two.txt' })
  T.equal(omni('/mo'), { '/mode', '/model' })
  T.equal(omni('/com'), { '/compact' })
  T.equal(omni('see /mo'), {})
  T.equal(omni('a@o'), {})
  local got = {}
  complete
    .new()
    :get_completions({ line = 'see @di and', cursor = { 1, 7 } }, function(answer) got.blink = answer.items end)
  complete.cmp.complete(nil, {
    context = { cursor_before_line = 'see @di', cursor = { row = 1 } },
  }, function(answer) got.cmp = answer.items end)
  T.equal(got.blink, got.cmp)
  T.equal(got.cmp[2].textEdit, {
    newText = '@diff',
    range = { start = { line = 0, character = 4 }, ['end'] = { line = 0, character = 7 } },
  })
  vim.api.nvim_buf_set_lines(0, 0, -1, true, { '' })
  type_keys('isee @quic<Tab><C-y><Esc>')
  T.equal(lines(), { 'see @quickfix' })
end)

test('a diff, the quickfix list and a terminal go along', {
  files = { ['a.txt'] = 'one\n' },
  script = [=[
[[reply]]
say = [{ text = "I see." }]
]=],
}, function()
  local function git(...)
    local done = vim.system({ 'git', '-c', 'user.name=a', '-c', 'user.email=a@b', ... }, { cwd = T.workspace }):wait()
    assert(done.code == 0, done.stderr)
  end
  git('init', '--quiet')
  git('add', 'a.txt')
  git('commit', '--quiet', '-m', 'one')
  vim.cmd.edit('a.txt')
  vim.fn.writefile({ 'one', 'two' }, 'a.txt')
  vim.fn.setqflist({ { filename = 'a.txt', lnum = 1, col = 1, text = 'wrong' } })
  vim.cmd('split | terminal echo printed here')
  T.wait('it is printed', function() return T.buffer('%'):find('printed here') end)
  vim.cmd('wincmd p')
  T.ask('Aside ask look at @diff, @quickfix and @terminal')
  T.has(T.page(), '> (with diff, 7 lines · quickfix, 1 line · terminal, 1 line)')
  local start = vim.iter(T.sent):find(function(message) return message.method == 'aside/turn/start' end)
  local texts = vim.tbl_map(function(item) return item.text end, start.params.attachments)
  T.has(texts[1], '\n+two')
  T.equal({ texts[2], texts[3] }, { 'a.txt:1:1: wrong', 'printed here' })
end)

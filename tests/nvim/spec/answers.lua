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

test('the end of a turn that is out of sight is said', {
  script = '[[reply]]\nsay = [{ text = "I answer." }]\ndelay_ms = 100',
}, function()
  vim.cmd('Aside ask go')
  T.wait('it is shown', function() return require('aside.view').visible() end)
  vim.cmd('Aside hide')
  T.ended()
  T.says('done: go — :Aside')
end)

local T = require('harness')
local test = T.test

local OLD = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n'

--- A turn that edits a file in two places, without asking.
local function edits(name)
  return ([=[
[[reply]]
when = { step = 1 }
say = [{ call = "read_file", arguments = { path = "@" } }]
[[reply]]
when = { step = 2 }
say = [{ call = "edit_file", arguments = { path = "@", old_text = "one\n", new_text = "ONE\nand more\n" } }]
[[reply]]
when = { step = 3 }
say = [{ call = "edit_file", arguments = { path = "@", old_text = "eight\n", new_text = "EIGHT\n" } }]
[[reply]]
say = [{ text = "Done." }]
]=]):gsub('@', name)
end

local UNASKED = { settings = { conversation = { mode = 'edits' } } }

test('changes that nobody was asked about are shown in place, kept or taken back one by one', {
  files = { ['a.txt'] = OLD },
  config = UNASKED,
  script = edits('a.txt'),
}, function()
  vim.cmd.edit('a.txt')
  T.ask('Aside ask go')
  T.says('changed a.txt — :Aside review')
  vim.cmd('Aside review')
  local screen = T.screen()
  for _, text in ipairs({
    'changed by Aside · 1 of 2',
    'gy keep · gn take back',
    '+ ONE',
    '+ and more',
    '- one',
    '- eight',
    '+ EIGHT',
  }) do
    T.has(screen, text)
  end
  T.press(']h')
  T.equal(vim.fn.getline('.'), 'EIGHT')
  T.press('[hgn')
  T.equal(vim.fn.readfile('a.txt', '', 2), { 'one', 'two' }, 'it is saved')
  T.has(T.screen(), 'changed by Aside · 1 of 1')
  T.press('u')
  T.draw()
  T.has(T.screen(), 'changed by Aside · 1 of 2')
  T.press('gggngy')
  T.says('all changes were looked at')
  T.equal(T.buffer('a.txt') .. '\n', (OLD:gsub('eight', 'EIGHT')))
  T.lacks(T.screen(), 'changed by Aside')
  T.equal(vim.fn.maparg('gy', 'n'), '')
  vim.cmd('Aside review')
  T.says('nothing was changed that you have not seen')
end)

test('all of a file that was not open is taken back, and what the person changed there stays', {
  files = { ['a.txt'] = OLD, ['b.txt'] = OLD },
  config = UNASKED,
  script = edits('b.txt'),
}, function()
  vim.cmd.edit('a.txt')
  T.ask('Aside ask go')
  T.equal(vim.fn.readfile('b.txt', '', 2), { 'ONE', 'and more' })
  vim.cmd.edit('b.txt')
  vim.fn.setline(6, 'mine')
  vim.cmd.write()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside review')
  T.equal(vim.fn.bufname(), 'b.txt')
  T.has(T.screen(), 'changed by Aside · 1 of 2')
  T.press('gN')
  T.says('all changes were looked at')
  T.equal(vim.fn.readfile('b.txt'), vim.split(vim.trim((OLD:gsub('five', 'mine'))), '\n'))
  T.press('u')
  T.equal(T.buffer('b.txt'), vim.trim((OLD:gsub('five', 'mine'):gsub('one', 'ONE\nand more'):gsub('eight', 'EIGHT'))))
end)

--- A text that was changed without asking.
---@param old string
---@param new string
local function made(old, new)
  vim.fn.writefile(vim.split(vim.trim(new), '\n'), 'a.txt')
  vim.cmd.edit('a.txt')
  require('aside.changes').record(vim.uri_from_bufnr(0), old, new)
  vim.cmd('Aside review')
  T.draw()
end

test('nothing is kept or taken back that was not on the screen', {}, function()
  local old = ('line\n'):rep(60)
  local new = 'first\n' .. old .. 'last\n'
  made(old, new)
  T.press('gY')
  T.says('not all of this was on the screen; read it, then decide')
  T.equal(vim.fn.getline('.'), 'last')
  T.has(T.screen(), 'changed by Aside · 2 of 2')
  vim.cmd('normal! 30Gzt')
  T.draw()
  T.press('gn')
  T.says('not all of this was on the screen; read it, then decide')
  T.equal(T.buffer('a.txt') .. '\n', new)
  T.press('gN')
  T.says('all changes were looked at')
  T.equal(T.buffer('a.txt') .. '\n', old)
end)

test('what was made and is longer than the window is shown on a page, and taken back there', {}, function()
  local more = {}
  for at = 1, 50 do
    more[at] = 'more ' .. at
  end
  local old = 'one\ntwo\n'
  made(old, 'one\n' .. table.concat(more, '\n') .. '\n2\n')
  T.equal(vim.bo.buftype, 'nofile')
  for _, text in ipairs({ 'a.txt', 'changed by Aside · 1 of 1', 'gy keep', '- two', '+ more 1' }) do
    T.has(T.screen(), text)
  end
  T.press('gn')
  T.says('lines of this were not seen yet; scroll to its end')
  T.wait('all of it was on the screen', function()
    T.press('gn')
    T.draw()
    return vim.fn.bufname() == 'a.txt'
  end)
  T.equal(T.buffer('a.txt') .. '\n', old)
  T.equal(#vim.api.nvim_list_wins(), 1)
  T.equal(vim.fn.maparg('gn', 'n'), '')
end)

test('what the person took, changed since, or put back is not shown again', {
  files = { ['a.txt'] = OLD },
  script = edits('a.txt'),
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside answer')
  T.draw()
  T.press('gy')
  T.wait('the next one waits', function()
    local open = require('aside.prompt').open()[1]
    return open and open.preview.new:find('EIGHT')
  end)
  vim.cmd('Aside mode edits')
  T.picks('Aside cancel')
  T.ended()
  vim.cmd('Aside review')
  T.says('nothing was changed that you have not seen')
  -- The same edits, but unasked.
  local changes = require('aside.changes')
  local uri = vim.uri_from_bufnr(0)
  changes.record(uri, OLD, (OLD:gsub('three', 'THREE'):gsub('nine', 'NINE')))
  vim.api.nvim_buf_set_lines(
    0,
    0,
    -1,
    true,
    vim.split(vim.trim((OLD:gsub('three', 'mine'):gsub('nine', 'NINE'))), '\n')
  )
  T.equal(#changes.open()[1].hunks, 1)
  changes.forget({ uri })
  T.equal(changes.open(), {})
end)

test('a proposal is edited before it is taken, and the model is told', {
  files = { ['a.txt'] = OLD },
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "read_file", arguments = { path = "a.txt" } }]
[[reply]]
when = { step = 2 }
say = [{ call = "edit_file", arguments = { path = "a.txt", old_text = "two", new_text = "TWO" } }]
[[reply]]
when = { result = { tool = "edit_file", contains = "TWO and a half" } }
say = [{ text = "As you like." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside answer')
  T.draw()
  T.press('ge')
  T.equal(#vim.api.nvim_list_tabpages(), 2)
  T.equal(T.buffer('%'), vim.trim((OLD:gsub('two', 'TWO'))))
  vim.fn.setline(2, 'TWO and a half')
  vim.cmd.write()
  T.wait('it is shown', function() return #vim.api.nvim_list_tabpages() == 1 end)
  T.draw()
  T.has(T.screen(), '+ TWO and a half')
  T.press('g!')
  T.says('you edited this change, so it is taken alone')
  T.press('gy')
  T.ended()
  T.equal(vim.fn.readfile('a.txt', '', 3), { 'one', 'TWO and a half', 'three' })
  T.has(T.page(), 'As you like.')
  -- One that is left is as it was.
  T.equal(#vim.api.nvim_list_wins(), 2, 'the answer is back')
end)

test('a proposal that is left is as it was, on the screen, and its buffers are no files', {
  files = { ['a.txt'] = OLD },
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "read_file", arguments = { path = "a.txt" } }]
[[reply]]
when = { step = 2 }
say = [{ call = "edit_file", arguments = { path = "a.txt", old_text = "two", new_text = "TWO" } }]
[[reply]]
say = [{ text = "As you like." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside answer')
  T.draw()
  local folders = #require('aside.client').client.workspace_folders
  T.press('ge')
  vim.fn.setline(2, 'TWO and a half')
  vim.cmd('quit!')
  T.wait('it is left', function() return #vim.api.nvim_list_tabpages() == 1 end)
  T.equal(#require('aside.client').client.workspace_folders, folders)
  T.draw()
  T.has(T.screen(), '+ TWO')
  T.lacks(T.screen(), 'and a half')
  T.press('gy')
  T.ended()
  T.equal(vim.fn.readfile('a.txt', '', 3), { 'one', 'TWO', 'three' })
end)

test('calls of two turns that have the same names are two', {
  files = { ['a.txt'] = OLD },
  script = [=[
[[reply]]
when = { step = 1, turn = 1 }
say = [{ call = "read_file", id = "r", arguments = { path = "a.txt" } }]
[[reply]]
when = { step = 2, turn = 1 }
say = [{ call = "edit_file", id = "e", arguments = { path = "a.txt", old_text = "two", new_text = "TWO" } }]
[[reply]]
when = { step = 1, turn = 2 }
say = [{ call = "read_file", id = "r", arguments = { path = "a.txt" } }]
[[reply]]
when = { step = 2, turn = 2 }
say = [{ call = "edit_file", id = "e", arguments = { path = "a.txt", old_text = "nine", new_text = "NINE" } }]
[[reply]]
repeat = true
say = [{ text = "Done." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask first')
  T.prompts(1)
  vim.cmd('Aside answer')
  T.draw()
  T.press('gy')
  T.ended()
  vim.cmd('Aside mode edits')
  T.ask('Aside ask second')
  T.says('changed a.txt — :Aside review')
  local first, second = unpack(vim.split(T.page(), '> second', { plain = true }))
  T.has(first, '│ +TWO')
  T.lacks(first, '│ +NINE')
  T.has(second, '│ +NINE')
  require('aside.view').choice.mode = nil
end)

test('a proposal for a file that is not open is edited on its page', {
  files = { ['b.txt'] = OLD },
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "read_file", arguments = { path = "b.txt" } }]
[[reply]]
when = { step = 2 }
say = [{ call = "edit_file", arguments = { path = "b.txt", old_text = "two", new_text = "TWO" } }]
[[reply]]
say = [{ text = "As you like." }]
]=],
}, function()
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside answer')
  T.draw()
  T.press('ge')
  vim.fn.setline(9, 'NINE')
  vim.cmd.write()
  T.wait('it is shown', function() return #vim.api.nvim_list_tabpages() == 1 end)
  T.draw()
  for _, text in ipairs({ '1 of 2', '+ TWO', '+ NINE' }) do
    T.has(T.screen(), text)
  end
  T.press('gY')
  T.ended()
  T.equal(vim.fn.readfile('b.txt'), vim.split(vim.trim((OLD:gsub('two', 'TWO'):gsub('nine', 'NINE'))), '\n'))
end)

local SHORT =
  '[[reply]]\nwhen = { user = "shorten this", attached = "a.txt" }\ndelay_ms = 200\nsay = [{ text = \'{"text": "2 and 3"}\' }]'

test('a rewrite that got no lines says so, and leaves them', {
  files = { ['a.txt'] = OLD },
  script = '[[reply]]\nrepeat = true\nsay = [{ text = "I would rather not." }]',
}, function()
  vim.cmd.edit('a.txt')
  T.ask('2Aside rewrite shorten this')
  T.says('the model gave no lines; yours stay — :Aside')
  T.lacks(T.said[#T.said], 'schema')
  T.equal(T.buffer('a.txt') .. '\n', OLD)
end)

test('lines are rewritten at once, as one undo', { files = { ['a.txt'] = OLD }, script = SHORT }, function()
  vim.cmd.edit('a.txt')
  vim.cmd('2,3Aside! shorten this')
  T.has(T.screen(), 'is being rewritten')
  T.equal(#vim.api.nvim_list_wins(), 1)
  -- The person goes on elsewhere.
  vim.api.nvim_buf_set_lines(0, 0, 0, true, { 'zero' })
  T.says('rewritten; u takes it back')
  T.equal(T.buffer('a.txt'), 'zero\n' .. vim.trim((OLD:gsub('two\nthree', '2 and 3'))))
  T.lacks(T.screen(), 'is being rewritten')
  vim.cmd.undo()
  T.equal(T.buffer('a.txt'), 'zero\n' .. vim.trim(OLD))
  vim.cmd.redo()
  vim.cmd('Aside review')
  T.has(T.screen(), '+ 2 and 3')
  T.press('q')
end)

test(
  'lines that the person changed meanwhile are not rewritten',
  { files = { ['a.txt'] = OLD }, script = SHORT },
  function()
    vim.cmd.edit('a.txt')
    T.choices = { 'shorten this' }
    vim.cmd('2,3Aside rewrite')
    vim.fn.setline(3, 'mine')
    T.says('you changed these lines meanwhile; they are as they were')
    T.equal(vim.fn.getline(2, 3), { 'two', 'mine' })
    T.has(T.page(), '2 and 3')
  end
)

test('the text before a change is made of the text after it and a diff', {}, function()
  local diff = require('aside.diff')
  local unified = vim.text and vim.text.diff or vim.diff
  for _, case in ipairs({
    { OLD, (OLD:gsub('two', 'TWO\nmore'):gsub('nine\n', '')) },
    { OLD, 'zero\n' .. OLD },
    { '++ a\n-- b\n', '++ a\n++ c\n' },
    { '', 'new\n' },
    { 'no end', 'no end\nnow\n' },
    { 'an end\n', 'none' },
    { 'none', 'none either' },
  }) do
    local text = '--- a/x\n+++ b/x\n' .. unified(case[1], case[2])
    T.equal(diff.before(case[2], text), case[1], text)
    T.equal(diff.before('other\n' .. case[2], text) ~= case[1], true)
  end
end)

test('of two edits of a file both are shown, also where the turn tells of them late', {
  files = { ['a.txt'] = OLD },
  config = UNASKED,
}, function()
  local changes = require('aside.changes')
  vim.cmd.edit('a.txt')
  local buf, uri = vim.api.nvim_get_current_buf(), vim.uri_from_bufnr(0)
  for row, text in pairs({ 'first', 'second' }) do
    changes.around(buf, function() vim.api.nvim_buf_set_lines(buf, 3 * row, 3 * row + 1, true, { text }) end)
  end
  for call = 1, 2 do
    changes.made('turn', { callId = 'call ' .. call, changes = { { uri = uri } } })
  end
  T.equal(#changes.open()[1].hunks, 2)
end)

test('a new file that is taken back is removed, and one that was empty before is not', {
  files = { ['empty.txt'] = '' },
  config = UNASKED,
  script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "read_file", arguments = { path = "empty.txt" } }]
[[reply]]
when = { step = 2 }
say = [
  { call = "write_file", arguments = { path = "empty.txt", content = "one\n" } },
  { call = "write_file", arguments = { path = "new.txt", content = "one\n" } },
]
[[reply]]
say = [{ text = "Done." }]
]=],
}, function()
  T.ask('Aside ask go')
  vim.cmd('Aside review')
  T.press('gN')
  T.says('one more file was changed')
  T.equal(vim.fn.filereadable('empty.txt'), 1)
  vim.cmd('Aside review')
  T.has(T.screen(), '+ one')
  T.equal(vim.fn.bufname(), 'new.txt')
  T.press('gN')
  T.says('removed new.txt; all changes were looked at')
  T.equal(vim.fn.filereadable('new.txt'), 0)
  T.press('u')
  vim.cmd('write')
  T.equal(T.text('new.txt'), 'one')
end)

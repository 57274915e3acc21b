local T = require('harness')
local test = T.test

local OLD = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n'

--- A turn that writes a whole file anew after it read it, and then says how it is.
local function writes(name, text, after)
  return ([=[
[[reply]]
when = { step = 1 }
say = [{ call = "read_file", arguments = { path = "%s" } }]
[[reply]]
when = { step = 2 }
say = [{ call = "write_file", arguments = { path = "%s", content = '''
%s''' } }]
%s
[[reply]]
say = [{ text = "Done." }]
]=]):format(name, name, text, after or '')
end

local NEW = 'one\n2\nthree\nfour\nfive\nsix\n7\neight\n'

--- What is drawn in the current buffer: the text of virtual lines by row.
local function drawn()
  local namespace = vim.api.nvim_get_namespaces()['aside.review']
  local lines = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
    for _, virtual in ipairs(mark[4].virt_lines or {}) do
      local text = {}
      for _, chunk in ipairs(virtual) do
        text[#text + 1] = chunk[1]
      end
      lines[#lines + 1] = mark[2] .. ': ' .. vim.trim(table.concat(text))
    end
    if mark[4].line_hl_group then lines[#lines + 1] = mark[2] .. ' ' .. mark[4].line_hl_group end
  end
  table.sort(lines)
  return lines
end

local function turn_to_it()
  T.prompts(1)
  vim.cmd('Aside answer')
end

--- Asks in the file, and turns to the change that waits.
local function asks_and_turns_to_it()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask go')
  turn_to_it()
end

test('a change shows in its file, is taken as a whole, saved, and is one undo', {
  files = { ['a.txt'] = OLD },
  script = writes('a.txt', NEW),
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask go')
  T.prompts(1)
  T.equal(drawn(), {
    '1 AsideDelete',
    '1: + 2',
    '1: write_file · 1 of 2 · :Aside answer',
    '6 AsideDelete',
    '6: + 7',
    '6: write_file · 2 of 2 · :Aside answer',
  })
  T.equal(vim.fn.maparg('gy', 'n'), '', 'no key is taken')
  turn_to_it()
  T.equal(vim.api.nvim_win_get_cursor(0)[1], 2)
  T.has(table.concat(drawn(), '\n'), '1: gy take · gn leave · gY all · g! turn · gN refuse · ge edit · ]h next')
  T.equal(#vim.api.nvim_list_wins(), 1, 'the answer is out of its way')
  T.press('gY')
  T.ended()
  T.equal(T.buffer('a.txt') .. '\n', NEW)
  T.equal(T.text('a.txt') .. '\n', NEW, 'it is saved')
  T.equal(vim.bo.modified, false)
  T.equal(drawn(), {})
  T.equal(vim.fn.maparg('gy', 'n'), '')
  T.equal(#vim.api.nvim_list_wins(), 2, 'the answer is back')
  vim.cmd('silent undo')
  T.equal(T.buffer('a.txt') .. '\n', OLD)
end)

test('one part of a change is taken and one is left out', {
  files = { ['a.txt'] = OLD },
  script = writes(
    'a.txt',
    NEW,
    [=[
[[reply]]
when = { result = { tool = "write_file", contains = "The user changed your text" } }
say = [{ text = "I see what you left out." }]
]=]
  ),
}, function()
  asks_and_turns_to_it()
  T.press('gn')
  T.equal(vim.api.nvim_win_get_cursor(0)[1], 7, 'it goes to the next one')
  T.has(table.concat(drawn(), '\n'), '1: write_file · 1 of 2 · left out')
  T.press('gy')
  T.ended()
  T.equal(T.text('a.txt'), 'one\ntwo\nthree\nfour\nfive\nsix\n7\neight')
  T.equal(T.buffer('a.txt'), T.text('a.txt'))
  T.has(T.page(), 'I see what you left out.')
end)

test('a change is refused with a note', {
  files = { ['a.txt'] = OLD },
  script = writes(
    'a.txt',
    NEW,
    '[[reply]]\nwhen = { result = { contains = "not that file" } }\nsay = [{ text = "I stop." }]'
  ),
}, function()
  asks_and_turns_to_it()
  T.choices = { false }
  T.press('gN')
  T.prompts(1)
  T.choices = { 'not that file' }
  T.press('gN')
  T.ended()
  T.has(T.page(), 'I stop.')
  T.equal(T.text('a.txt') .. '\n', OLD)
end)

test('a map of the buffer that has the same keys comes back', {
  files = { ['a.txt'] = OLD },
  script = writes('a.txt', NEW),
}, function()
  vim.cmd.edit('a.txt')
  vim.keymap.set('n', 'gy', 'yy', { buffer = 0 })
  vim.cmd('Aside ask go')
  turn_to_it()
  T.press('gY')
  T.ended()
  T.equal(vim.fn.maparg('gy', 'n'), 'yy')
end)

test('who types in the file has turned away: the keys are gone, and what was shown is dropped with its lines', {
  files = { ['a.txt'] = OLD },
  script = writes('a.txt', NEW),
}, function()
  asks_and_turns_to_it()
  T.press('i<Esc>')
  T.equal(vim.fn.maparg('gy', 'n'), '')
  T.equal(#drawn(), 6)
  T.press('2Gccother')
  T.wait('it is dropped', function() return #drawn() == 0 end)
  T.equal(#require('aside.prompt').open(), 1, 'it waits on')
  vim.cmd('Aside answer')
  assert(vim.api.nvim_win_get_config(0).relative ~= '', 'a page shows it')
  T.has(vim.api.nvim_win_get_config(0).footer[1][1], 'the text changed since')
  T.press('q')
  vim.cmd('silent undo')
  vim.cmd('Aside answer')
  T.equal(vim.api.nvim_get_current_buf(), vim.fn.bufnr('a.txt'))
  T.press('gY')
  T.ended()
  T.equal(T.text('a.txt') .. '\n', NEW)
end)

test('what was shown is dropped when the file is read anew, and shown on a page where its buffer is gone', {
  files = { ['a.txt'] = OLD, ['b.txt'] = 'b\n' },
  script = writes('a.txt', NEW),
}, function()
  vim.cmd.edit('a.txt')
  vim.o.autoread = true
  vim.cmd('Aside ask go')
  turn_to_it()
  local function change(text, seconds)
    vim.fn.writefile(vim.split(text, '\n'), 'a.txt', 'b')
    vim.uv.fs_utime('a.txt', os.time() + seconds, os.time() + seconds)
    vim.cmd('checktime')
  end
  change('theirs\n', 10)
  T.wait('it is dropped', function() return #drawn() == 0 end)
  T.equal(vim.fn.maparg('gy', 'n'), '')
  change(OLD, 20)
  vim.cmd('edit b.txt | bwipeout! a.txt | Aside answer')
  assert(vim.api.nvim_win_get_config(0).relative ~= '', 'a page shows it')
  T.press('gY')
  T.ended()
  T.equal(T.text('a.txt') .. '\n', NEW)
end)

test("a change of text that is not saved keeps what is the person's own, and does not save it", {
  files = { ['a.txt'] = OLD },
  script = writes('a.txt', 'one\n2\nthree\nfour\nfive\nsix\nseven\neight\nmine\n'),
}, function()
  vim.cmd.edit('a.txt')
  T.press('Gomine')
  vim.cmd('Aside ask go')
  turn_to_it()
  T.equal(drawn()[2], '1: + 2')
  T.press('gy')
  T.ended()
  T.equal(T.buffer('a.txt'), 'one\n2\nthree\nfour\nfive\nsix\nseven\neight\nmine')
  T.equal(vim.bo.modified, true)
  T.equal(T.text('a.txt') .. '\n', OLD)
end)

test('a command that follows an edit reads the new text', {
  files = { ['a.txt'] = OLD },
  script = writes(
    'a.txt',
    NEW,
    [=[
[[reply]]
when = { step = 3 }
say = [{ call = "run_command", arguments = { command = "sed -n 2p a.txt" } }]
]=]
  ),
}, function()
  asks_and_turns_to_it()
  T.press('gY')
  T.wait('the command waits', function()
    local open = require('aside.prompt').open()[1]
    return open and open.label == 'run_command'
  end)
  T.choices = { 'Run once' }
  vim.cmd('Aside answer')
  T.ended()
  T.has(T.page(), '│ 2\n')
end)

test('a file that is not open is shown on a page, and is not opened', {
  files = { ['a.txt'] = OLD, ['b.txt'] = 'b\n' },
  script = writes('b.txt', 'b\nnew\n'),
}, function()
  asks_and_turns_to_it()
  T.equal(T.buffer(vim.api.nvim_get_current_buf()), 'b\nnew')
  T.equal(drawn()[1], '1 AsideAdd')
  T.equal(vim.api.nvim_win_get_height(0), vim.api.nvim_win_text_height(0, {}).all, 'all of it is seen at once')
  T.press('gy')
  T.ended()
  T.equal(T.text('b.txt'), 'b\nnew')
  T.equal(vim.fn.bufloaded('b.txt'), 0)
  T.equal(#vim.fn.getbufinfo({ buflisted = 1 }), 1)
end)

test('a new file is shown on a page, and part of a long change can be left out there', {
  files = { ['a.txt'] = OLD },
  script = '[[reply]]\nwhen = { step = 1 }\nsay = [{ call = "write_file", arguments = { path = "new/n.txt", content = "x\\ny\\n" } }]\n'
    .. '[[reply]]\nsay = [{ text = "Done." }]',
}, function()
  asks_and_turns_to_it()
  T.equal(T.buffer(vim.api.nvim_get_current_buf()), 'x\ny')
  T.press('gy')
  T.ended()
  T.equal(T.text('new/n.txt'), 'x\ny')
end)

test('a long change of an open file is shown on a page, where all of it can be scrolled', {
  files = { ['a.txt'] = OLD },
  script = writes('a.txt', 'one\n' .. ('more\n'):rep(300) .. 'eight\n'),
}, function()
  asks_and_turns_to_it()
  assert(vim.api.nvim_win_get_config(0).relative ~= '')
  T.equal(vim.api.nvim_buf_line_count(0), 308)
  T.press('Gggy')
  T.press('GgY')
  T.equal(#require('aside.prompt').open(), 1, 'what was not on the screen is not taken')
  T.has(T.said[#T.said], 'lines of this were not seen yet; scroll to its end')
  T.press('gg')
  for _ = 1, 40 do
    T.draw()
    T.press('<C-f>')
  end
  T.press('gY')
  T.has(T.screen(), 'gy take')
  T.press('gY')
  T.ended()
  T.equal(#vim.fn.readfile('a.txt'), 302)
  T.equal(T.buffer('a.txt'), T.text('a.txt'))
end)

test('several changes that wait are in the quickfix list, and are decided one after another', {
  files = { ['a.txt'] = OLD, ['b.txt'] = 'b\n' },
  script = [=[
[[reply]]
when = { step = 1 }
say = [
  { call = "read_file", arguments = { path = "a.txt" } },
  { call = "read_file", arguments = { path = "b.txt" } },
]
[[reply]]
when = { step = 2 }
say = [
  { call = "edit_file", arguments = { path = "a.txt", old_text = "seven", new_text = "7" } },
  { call = "edit_file", arguments = { path = "b.txt", old_text = "b", new_text = "bee" } },
]
[[reply]]
say = [{ text = "Done." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask go')
  T.prompts(2)
  local items = vim.tbl_map(
    function(item) return ('%s:%d %s'):format(vim.fs.basename(vim.fn.bufname(item.bufnr)), item.lnum, item.text) end,
    vim.fn.getqflist()
  )
  table.sort(items)
  T.equal(items, { 'a.txt:7 edit_file: -1 +1', 'b.txt:1 edit_file: -1 +1' })
  vim.cmd('Aside answer')
  local first = vim.api.nvim_get_current_buf()
  T.press('gy')
  -- Which of them comes first is chance.
  T.wait(
    'the other one is shown',
    function() return vim.api.nvim_get_current_buf() ~= first and vim.fn.maparg('gy', 'n') ~= '' end
  )
  T.press('gy')
  T.ended()
  T.equal({ T.text('a.txt'):match('7'), T.text('b.txt') }, { '7', 'bee' })
  T.equal(vim.fn.getqflist(), {}, 'what is decided is not in the list')
end)

test("a quickfix list of the person's is left alone until the person turns to the changes, and given back", {
  files = { ['a.txt'] = OLD },
  script = writes('a.txt', NEW),
}, function()
  vim.cmd.edit('a.txt')
  vim.fn.setqflist({ { filename = 'a.txt', lnum = 1, text = 'mine' } })
  vim.cmd('Aside ask go')
  T.prompts(1)
  T.equal(vim.fn.getqflist()[1].text, 'mine')
  vim.cmd('Aside answer')
  T.equal(#vim.fn.getqflist(), 2)
  T.press('gY')
  T.ended()
  T.equal(vim.fn.getqflist()[1].text, 'mine', 'it is given back')
end)

test('all edits of a turn run after one yes', {
  files = { ['a.txt'] = OLD },
  script = writes(
    'a.txt',
    NEW,
    [=[
[[reply]]
when = { step = 3 }
say = [{ call = "edit_file", arguments = { path = "a.txt", old_text = "eight", new_text = "8" } }]
]=]
  ),
}, function()
  asks_and_turns_to_it()
  T.press('g!')
  T.ended()
  T.has(T.text('a.txt'), '7\n8')
end)

test('what a call changed is below its line as a diff, or why it cannot be shown', {
  files = { ['a.txt'] = OLD },
  script = [=[
[[reply]]
when = { step = 1 }
say = [
  { call = "write_file", id = "new", arguments = { path = "n.txt", content = "x\ny\n" } },
  { call = "write_file", id = "empty", arguments = { path = "e.txt", content = "" } },
]
[[reply]]
say = [{ text = "Done." }]
]=],
  config = { settings = { conversation = { mode = 'edits' } } },
}, function()
  local kept = require('aside.turn').update
  local turn
  require('aside.turn').update = function(params)
    turn = params
    kept(params)
  end
  T.ask('Aside ask go')
  local shown = vim.split(T.page(), '\n')
  table.remove(shown) -- what is said at last
  local diff = { '│ --- /dev/null', '│ +++ b/n.txt', '│ @@ -0,0 +1,2 @@', '│ +x', '│ +y' }
  T.has(T.page(), table.concat(diff, '\n') .. '\n')
  T.equal(#vim.tbl_filter(function(line) return vim.startswith(line, '│') end, shown), #diff)
  local change = { uri = vim.uri_from_fname('n.txt'), missing = 'n.txt cannot be shown.' }
  local update = { kind = 'edit', callId = 'empty', changes = { change } }
  kept({ turnId = turn.turnId, conversationId = turn.conversationId, update = update })
  T.has(T.page(), '`\n│ n.txt cannot be shown.\n')
end)

test('a turn is undone', {
  files = { ['a.txt'] = OLD, ['b.txt'] = 'b\n' },
  script = writes('a.txt', NEW),
}, function()
  asks_and_turns_to_it()
  T.press('gY')
  T.ended()
  -- Out of sight, turns that changed files are offered, with when and what.
  vim.cmd('Aside! ask nothing')
  T.prompts(1)
  vim.cmd('Aside cancel')
  T.ended()
  vim.cmd('Aside hide')
  T.picks('Aside undo', false)
  T.equal(T.shown[#T.shown].items, { 'go · just now · a.txt' })
  T.picks('Aside undo', 'go · just now · a.txt')
  T.wait('it is said', function() return T.said[#T.said] == 'Aside: put back a.txt' end)
  -- It did change a file, which is as it was.
  T.picks('Aside undo', 'go · just now · a.txt')
  T.wait('it is said', function() return T.said[#T.said] == 'Aside: nothing is left to put back' end)
  T.equal(T.buffer('a.txt') .. '\n', OLD)
  T.equal(T.text('a.txt') .. '\n', OLD)
end)

test('a turn that runs still is not undone, and it is said what ends it', {
  script = '[[reply]]\nfault = { stall = true }',
}, function()
  vim.cmd('Aside ask go')
  T.wait('it runs', function() return require('aside.turn').running() end)
  vim.cmd('Aside undo')
  T.says('the turn runs still; :Aside cancel ends it')
  vim.cmd('Aside cancel')
  T.ended()
end)

test('a file that another program changed is not written over, and nothing is asked', {
  files = { ['a.txt'] = OLD },
}, function()
  vim.cmd.edit('a.txt')
  local save = require('aside.handlers')['aside/document/save']
  vim.api.nvim_buf_set_lines(0, 0, 1, true, { '1' })
  T.equal({ save(nil, { uri = vim.uri_from_bufnr(0) }) }, { vim.empty_dict() })
  T.equal(vim.fn.readfile('a.txt')[1], '1')
  vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'mine' })
  vim.fn.writefile({ 'theirs' }, 'a.txt')
  vim.uv.fs_utime('a.txt', os.time() + 10, os.time() + 10)
  local _, why = save(nil, { uri = vim.uri_from_bufnr(0) })
  T.equal(why and why.message, 'the file was changed by another program')
  T.equal(T.text('a.txt'), 'theirs')
  local _, other = save(nil, { uri = vim.uri_from_fname(T.workspace .. '/a') })
  T.equal(other and other.message, 'it is not open', 'a file whose name begins alike')
  vim.bo.readonly = true
  _, why = save(nil, { uri = vim.uri_from_bufnr(0) })
  T.equal(why and why.message, "'readonly' is set")
end)

--- A turn that makes these edits of a file in one step.
local function edits(name, ...)
  local calls = {}
  for _, edit in ipairs({ ... }) do
    local call = '{ call = \'edit_file\', arguments = { path = \'%s\', old_text = "%s", new_text = "%s" } },'
    calls[#calls + 1] = call:format(name, edit[1], edit[2])
  end
  return ([=[
[[reply]]
when = { step = 1 }
say = [{ call = "read_file", arguments = { path = "%s" } }]
[[reply]]
when = { step = 2 }
say = [
%s
]
[[reply]]
say = [{ text = "Done." }]
]=]):format(name, table.concat(calls, '\n'))
end

--- How many windows float.
local function floats()
  return #vim.tbl_filter(
    function(win) return vim.api.nvim_win_get_config(win).relative ~= '' end,
    vim.api.nvim_tabpage_list_wins(0)
  )
end

test('each of several changes of a file is shown in it, whichever the person turns to', {
  files = { ['a.txt'] = OLD },
  script = edits('a.txt', { 'one', '1' }, { 'four', '4' }, { 'eight', '8' }),
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask go')
  local open = T.prompts(3)
  local lines = {}
  for _ = 1, 3 do
    vim.cmd('Aside answer')
    T.draw()
    T.equal({ floats(), vim.fn.bufname() }, { 0, 'a.txt' })
    T.has(T.screen(), 'gy take')
    lines[#lines + 1] = vim.fn.line('.')
  end
  table.sort(lines)
  T.equal(lines, { 1, 4, 8 })
  for left = #open, 1, -1 do
    T.draw()
    T.equal({ floats(), vim.fn.bufname() }, { 0, 'a.txt' })
    T.press('gy')
    if left > 1 then
      T.wait(
        'the next one follows',
        function() return #require('aside.prompt').open() == left - 1 and vim.fn.maparg('gy', 'n') ~= '' end
      )
    end
  end
  T.ended()
  T.equal(T.text('a.txt'), '1\ntwo\nthree\n4\nfive\nsix\nseven\n8')
end)

test('a proposal is edited, and a part of one left out, after another change of the file was taken', {
  files = { ['a.txt'] = OLD },
  script = edits('a.txt', { 'one', '1\\nand more' }, { 'four', '4' }, { 'six\\nseven\\neight', '6\\nseven\\n8' }),
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask go')
  T.prompts(3)
  --- Turns to the change of a line.
  local function turn_to(line)
    T.wait('the change of line ' .. line, function()
      vim.cmd('Aside answer')
      T.draw()
      return vim.fn.getline('.') == line
    end)
  end
  turn_to('one')
  T.press('gy')
  T.wait('it is made', function() return vim.fn.getline(2) == 'and more' end)
  turn_to('four')
  T.press('ge')
  T.equal({ vim.fn.line('.'), vim.fn.getline('.') }, { 5, '4' }, 'it begins at the change')
  vim.fn.setline(1, 'mine')
  vim.fn.setline(5, 'FOUR')
  vim.cmd.write()
  T.wait('it is shown', function() return #vim.api.nvim_list_tabpages() == 1 end)
  T.draw()
  T.press('gY')
  T.wait('it is made', function() return vim.fn.getline(1) == 'mine' end)
  turn_to('six')
  T.press('gn')
  T.draw()
  T.press('gy')
  T.ended()
  T.equal(T.text('a.txt'), 'mine\nand more\ntwo\nthree\nFOUR\nfive\nsix\nseven\n8')
  T.has(table.concat(T.beside(), '\n'), 'yes, once, with changes (you)')
end)

test('what was decided of a change stays when the person turns to it again, and is taken back by the other key', {
  files = { ['a.txt'] = OLD },
  script = writes('a.txt', NEW),
}, function()
  asks_and_turns_to_it()
  T.draw()
  T.press('gy')
  vim.cmd('Aside answer')
  T.draw()
  T.has(T.screen(), '1 of 2 · taken')
  T.equal(vim.fn.line('.'), 7, 'it goes to what is not decided')
  T.press('[h')
  T.draw()
  T.has(T.screen(), 'gn leave after all')
  T.press('gn')
  T.equal(vim.fn.line('.'), 7)
  T.has(table.concat(drawn(), '\n'), '1: gy show again · ]h next')
  T.press('[h')
  T.draw()
  T.press('gy')
  T.draw()
  T.has(T.screen(), '+ 2')
  T.press('gy')
  T.draw()
  T.press('gn')
  T.ended()
  T.equal(T.text('a.txt'), 'one\n2\nthree\nfour\nfive\nsix\nseven\neight')
end)

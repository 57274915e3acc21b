local T = require('harness')
local test = T.test

local OLD = 'one\n    two\n    three\n    four\nfive\n'

--- A turn that reads a file and edits it.
local function edits(name, old, new)
  return ([=[
[[reply]]
when = { step = 1 }
say = [{ call = "read_file", arguments = { path = "%s" } }]
[[reply]]
when = { step = 2 }
say = [{ call = "edit_file", arguments = { path = "%s", old_text = '''%s''', new_text = '''%s''' } }]
[[reply]]
say = [{ text = "Done." }]
]=]):format(name, name, old, new)
end

local function turn_to_it()
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside answer')
  T.draw()
end

local function takes_it()
  T.press('gy')
  T.ended()
end

test('a change before line 1 is on the screen with its label and keys', {
  files = { ['a.txt'] = OLD },
  script = edits('a.txt', 'one', '# SPDX\n# two\none'),
}, function()
  vim.cmd.edit('a.txt')
  turn_to_it()
  for _, text in ipairs({ 'edit_file · 1 of 1', 'gy take', '+ # SPDX', '+ # two' }) do
    T.has(T.screen(), text)
  end
  takes_it()
  T.equal(vim.fn.readfile('a.txt')[1], '# SPDX')
end)

test('what is scrolled away is not taken by a key, but comes back', {
  files = { ['a.txt'] = OLD .. ('more\n'):rep(100) },
  script = edits('a.txt', 'one', 'ONE'),
}, function()
  vim.cmd.edit('a.txt')
  turn_to_it()
  T.press('G')
  T.draw()
  T.press('gy')
  T.equal(#require('aside.prompt').open(), 1)
  T.has(T.screen(), '+ ONE')
  takes_it()
end)

test('a change is shown where no message of a plugin covers it', {
  files = { ['a.txt'] = ('more\n'):rep(50) .. OLD .. ('more\n'):rep(50) },
  script = edits('a.txt', 'one', 'ONE'),
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask go')
  T.prompts(1)
  -- One in the middle and at the top, as notifiers show them, then also one at the bottom.
  local function cover(row, height)
    local place =
      { relative = 'editor', row = row, col = 2, width = 60, height = height, focusable = false, zindex = 100 }
    return vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), false, place)
  end
  local wins = { cover(0, 14) }
  vim.cmd('Aside answer')
  T.draw()
  T.equal(vim.api.nvim_buf_get_name(0):match('[^/]*$'), 'a.txt')
  T.has(T.screen(), '+ ONE')
  T.press('gg')
  wins[2] = cover(20, 3)
  T.press(']h')
  T.equal(vim.api.nvim_buf_get_name(0):match('[^/]*$'), 'a.txt')
  T.has(T.screen(), '+ ONE')
  vim.iter(wins):each(function(win) vim.api.nvim_win_close(win, true) end)
  takes_it()
end)

test('a change that has just come on the screen is not taken by a key that was typed before', {
  files = { ['a.txt'] = OLD },
  script = edits('a.txt', 'one', 'ONE'),
}, function()
  local shown, now = require('aside.shown'), 0
  shown.pause, shown.now = 500, function() return now end
  vim.cmd.edit('a.txt')
  turn_to_it()
  now = 499
  T.press('gy')
  T.equal(#require('aside.prompt').open(), 1)
  T.says('this has only just come on the screen; read it, then decide')
  now = 500
  takes_it()
end)

test('a change that was read is taken also right after a list of keys covered it for a moment', {
  files = { ['a.txt'] = OLD },
  script = edits('a.txt', 'one', 'ONE'),
}, function()
  local shown, now = require('aside.shown'), 0
  shown.pause, shown.now = 500, function() return now end
  vim.cmd.edit('a.txt')
  turn_to_it()
  now = 500
  local place = { relative = 'editor', row = 0, col = 0, width = 60, height = 20, zindex = 250, style = 'minimal' }
  local keys = vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), false, place)
  T.draw()
  now = 1000
  vim.api.nvim_win_close(keys, true)
  takes_it()
end)

test('an answer that comes over a change gives way to it', {
  files = { ['a.txt'] = OLD },
  script = edits('a.txt', 'one', 'ONE'):gsub('step = (%d)', 'user = "go", step = %1'),
}, function()
  vim.cmd.edit('a.txt')
  turn_to_it()
  vim.cmd('Aside! ask hello')
  T.wait('it is answered', function() return T.page():find('Done.', 1, true) end)
  local other = require('aside.view').visible()
  vim.api.nvim_win_set_config(other:window(), { relative = 'editor', row = 0, col = 0, width = 60, zindex = 250 })
  T.draw()
  T.press('gy')
  T.equal(#require('aside.prompt').open(), 1)
  T.equal(other:window(), nil)
  T.lacks(T.screen(), 'in “go”')
  other:show()
  vim.cmd('Aside answer')
  T.has(T.screen(), 'edit_file · in “go” · 1 of 1')
  T.has(T.screen(), '+ ONE')
  takes_it()
end)

test('a fold is open while what is in it can be decided; when it is closed again, nothing is taken', {
  files = { ['a.txt'] = OLD },
  script = edits('a.txt', 'three', 'THREE'),
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('setlocal foldmethod=indent foldlevel=0 foldenable shiftwidth=4')
  turn_to_it()
  T.has(T.screen(), '+     THREE')
  local function is_taken() return require('aside.prompt').open()[1] == nil end
  vim.cmd('normal! zM')
  T.draw()
  T.lacks(T.screen(), 'THREE')
  T.press('gy')
  T.equal(is_taken(), false)
  T.has(T.screen(), '+     THREE')
  takes_it()
end)

test('an added line that is wider than the window goes on in further rows, and so do the keys', {
  files = { ['a.txt'] = OLD },
  script = edits('a.txt', 'five', 'five' .. ('x'):rep(200) .. " os.system('x')"),
}, function()
  vim.cmd('edit a.txt | vsplit')
  turn_to_it()
  T.has(T.screen():gsub('%s+', ''), "os.system('x')")
  T.has(T.screen(), 'next')
  takes_it()
end)

test('one that is longer than a window is shown on a page', {
  files = { ['a.txt'] = OLD },
  script = edits('a.txt', 'five', 'five ' .. ('x '):rep(500) .. 'end'),
}, function()
  vim.cmd('edit a.txt | vsplit | split')
  turn_to_it()
  assert(vim.api.nvim_win_get_config(0).relative ~= '', 'a page shows it')
  T.has(T.screen(), ' end')
  takes_it()
end)

test('tabs of an added line are as wide as those of the line that it replaces, and a CR at the end is none of it', {
  files = { ['a.go'] = 'a\n\tfirst\n\tprint("a",\t1)\n', ['dos.txt'] = 'one\r\ntwo\r\n' },
  script = edits('a.go', '\tprint("a",\t1)', '\tprint("a",\t2)'),
}, function()
  vim.cmd.edit('a.go')
  turn_to_it()
  T.has(T.screen(), '\n-         print("a",      1)')
  T.has(T.screen(), '\n+         print("a",      2)')
  takes_it()
end)

test('lines of a file with CRLF are shown without CR', {
  files = { ['dos.txt'] = 'one\r\ntwo\r\n' },
  script = edits('dos.txt', 'two', 'TWO\nAND A HALF'),
}, function()
  vim.cmd.edit('dos.txt')
  turn_to_it()
  T.has(T.screen(), '+ AND A HALF')
  T.lacks(T.screen(), '^M')
  takes_it()
end)

test('an empty new file is asked about', {
  files = { ['a.txt'] = OLD },
  script = '[[reply]]\nwhen = { step = 1 }\nsay = [{ call = "write_file", arguments = { path = "empty.txt", content = "" } }]\n'
    .. '[[reply]]\nsay = [{ text = "Done." }]',
}, function()
  T.choices = { 'Run once' }
  vim.cmd.edit('a.txt')
  turn_to_it()
  T.ended()
  T.equal(vim.fn.filereadable('empty.txt'), 1)
end)

test('after a change was decided no question opens by itself, and the next change does only where nothing was typed', {
  files = { ['a.txt'] = OLD, ['b.txt'] = 'b\n', ['c.txt'] = 'c\n' },
  script = [=[
[[reply]]
when = { step = 1 }
say = [
  { call = "read_file", arguments = { path = "a.txt" } },
  { call = "read_file", arguments = { path = "b.txt" } },
  { call = "read_file", arguments = { path = "c.txt" } },
]
[[reply]]
when = { step = 2 }
say = [
  { call = "edit_file", arguments = { path = "a.txt", old_text = "one", new_text = "ONE" } },
  { call = "edit_file", arguments = { path = "b.txt", old_text = "b", new_text = "B" } },
  { call = "edit_file", arguments = { path = "c.txt", old_text = "c", new_text = "C" } },
  { call = "run_command", arguments = { command = "echo ran > ran.txt" } },
]
[[reply]]
say = [{ text = "Done." }]
]=],
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask go')
  T.prompts(4)
  local function is_shown() return vim.fn.maparg('gy', 'n') ~= '' end
  local function turn()
    for _ = 1, 4 do
      if not is_shown() and require('aside.review').is_change(require('aside.prompt').open()[1]) then
        vim.cmd('Aside answer')
        break
      end
      table.insert(T.choices, false)
      vim.cmd('Aside answer')
    end
    T.draw()
  end
  turn()
  T.press('gy')
  T.prompts(3)
  T.wait('the next change is shown', is_shown)
  T.draw()
  T.press('gy')
  T.press('j')
  T.prompts(2)
  T.answered()
  T.draw()
  T.equal(is_shown(), false, 'something was typed')
  turn()
  T.press('gy')
  T.prompts(1)
  T.answered()
  T.draw()
  T.has(T.said[#T.said], 'run_command')
  T.equal(vim.fn.filereadable('ran.txt'), 0)
  T.choices = { 'Run once' }
  vim.cmd('Aside answer')
  T.ended()
end)

local TWO = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "read_file", arguments = { path = "a.txt" } }]
[[reply]]
when = { step = 2 }
say = [
  { call = "edit_file", arguments = { path = "a.txt", old_text = "one", new_text = "ONE\nand more" } },
  { call = "edit_file", arguments = { path = "a.txt", old_text = "five", new_text = "FIVE" } },
]
[[reply]]
say = [{ text = "Done." }]
]=]

test('two edits of one file are taken one after another, where they would be made in the text as it is', {
  files = { ['a.txt'] = OLD },
  script = TWO,
}, function()
  vim.cmd.edit('a.txt')
  vim.cmd('Aside ask go')
  T.prompts(2)
  vim.cmd('Aside answer')
  for left = 1, 0, -1 do
    T.wait('a change is shown', function() return vim.fn.maparg('gy', 'n') ~= '' end)
    T.draw()
    T.equal(vim.api.nvim_win_get_config(0).relative, '', 'in the file itself')
    T.lacks(T.screen(), 'the text changed since')
    T.wait('it is taken', function()
      T.draw()
      T.press('gy')
      return #require('aside.prompt').open() == left
    end)
  end
  T.ended()
  T.equal(T.buffer('a.txt'), 'ONE\nand more\n    two\n    three\n    four\nFIVE')
  T.equal(T.buffer('a.txt'), T.text('a.txt'))
end)

test('a change moves along where the person changes other lines, and says that the text changed', {
  files = { ['a.txt'] = OLD },
  script = edits('a.txt', 'five', 'FIVE'),
}, function()
  vim.cmd.edit('a.txt')
  turn_to_it()
  vim.api.nvim_buf_set_lines(0, 0, 0, true, { 'mine', 'mine' })
  T.wait('it is shown again', function() return T.screen():find('other lines changed since', 1, true) end)
  T.has(T.screen(), '- five')
  T.has(T.screen(), '+ FIVE')
  vim.cmd('silent undo')
  T.wait('it is as it was', function() return not T.screen():find('other lines changed since', 1, true) end)
  T.has(T.screen(), '+ FIVE')
  T.draw()
  takes_it()
  T.equal(T.text('a.txt'), 'one\n    two\n    three\n    four\nFIVE')
end)

test('hunks move along with other changes, and not with changes of the same lines', {}, function()
  local diff = require('aside.diff')
  local function firsts(old, new, now)
    local moved = diff.move(old, now, diff.hunks(old, new))
    return moved and vim.tbl_map(function(hunk) return hunk.first end, moved)
  end
  T.equal(firsts('a\nb\nc\n', 'a\nb\nC\n', 'x\na\nb\nc\n'), { 4 })
  T.equal(firsts('a\nb\nc\n', 'A\nb\nC\n', 'a\nc\n'), { 1, 2 })
  T.equal(firsts('a\nb\nc\n', 'a\nB\nc\n', 'A\nb\nC\n'), { 2 }, 'of the lines beside it')
  T.equal(firsts('a\nb\n', 'a\nB\n', 'a\nother\n'), nil)
  T.equal(firsts('a\nb\n', 'a\nnew\nb\n', 'a\nmine\nb\n'), nil, 'at the same place')
end)

test('a key stands in one row with its word', {}, function()
  local keys = 'gy take · gn leave · gY all · gN refuse'
  T.equal(require('aside.rows').hints(keys, 30), { 'gy take · gn leave · gY all ·', 'gN refuse' })
  T.equal(require('aside.rows').hints('gy take · gN refuse', 11), { 'gy take ·', 'gN refuse' })
end)

local CART = [=[
"""A cart keeps items until they are bought."""
from shop.money import Money
from shop.item import Item


class Cart:
    def __init__(self) -> None:
        self.items: list[Item] = []

    def add(self, name: str, price: int, count: int = 1) -> None:
        self.items.append(Item(name, Money(price), count))

    def total(self) -> Money:
        total = Money(0)
        for item in self.items:
            total = total + item.total()
        return total

    def clear(self) -> None:
        self.items = []
]=]

local BETTER = CART:gsub('total = Money%(0%)', 'result = Money(0)')
  :gsub('total = total %+', 'result = result +')
  :gsub('return total', 'return result')

test('below the last line nothing is left of rows that moved', {
  files = { ['cart.py'] = CART },
  script = ([=[
[[reply]]
when = { step = 1 }
say = [{ call = "read_file", arguments = { path = "cart.py" } }]
[[reply]]
when = { step = 2 }
say = [{ call = "write_file", arguments = { path = "cart.py", content = '''
@''' } }]
[[reply]]
say = [{ text = "Done." }]
]=]):gsub('@', BETTER),
}, function()
  local columns, lines = vim.o.columns, vim.o.lines
  vim.o.columns, vim.o.lines = 100, 30
  vim.cmd.edit('cart.py')
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('botright vertical 50 new | wincmd p | Aside answer')
  T.screen()
  T.press('gy')
  local before = T.screen()
  vim.cmd('redraw!')
  local after = T.screen()
  vim.o.columns, vim.o.lines = columns, lines
  T.equal(vim.split(before, '\n'), vim.split(after, '\n'))
end)

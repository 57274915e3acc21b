--- Texts that an editor writes in another way than others: carriage returns within lines, line ends of both kinds,
--- encodings, and files that a command changed.
local T = require('harness')
local test = T.test

local EDITS = { settings = { conversation = { mode = 'edits' } } }

--- A text as TOML has it, which knows no escaped slash.
local function quoted(text) return (vim.json.encode(text):gsub('\\/', '/')) end

--- A turn that reads files, makes an edit in each, and is done.
---@param all { [1]: string, [2]: string, [3]: string }[] file, old text, new text
local function edits(all)
  local reads, changes = {}, {}
  for _, edit in ipairs(all) do
    reads[#reads + 1] = ('{ call = "read_file", arguments = { path = %s } }'):format(quoted(edit[1]))
    changes[#changes + 1] = ('{ call = "edit_file", arguments = { path = %s, old_text = %s, new_text = %s } }'):format(
      quoted(edit[1]),
      quoted(edit[2]),
      quoted(edit[3])
    )
  end
  return ('[[reply]]\nwhen = { step = 1 }\nsay = [%s]\n[[reply]]\nwhen = { step = 2 }\nsay = [%s]\n[[reply]]\nsay = [{ text = "Done." }]\n'):format(
    table.concat(reads, ', '),
    table.concat(changes, ', ')
  )
end

local function bytes(name)
  local file = assert(io.open(name, 'rb'))
  local text = file:read('a')
  file:close()
  return text
end

local LOG = 'progress 1%\rprogress 100%\nalpha\nbeta\ngamma\n'

test('an edit below a carriage return changes the line that was named', {
  files = { ['log.txt'] = LOG },
  config = EDITS,
  script = edits({ { 'log.txt', 'beta', 'BETA' } }),
}, function()
  vim.cmd.edit('log.txt')
  vim.cmd('Aside ask go')
  T.ended()
  T.equal(bytes('log.txt'), (LOG:gsub('beta', 'BETA')))
end)

test('lines of a file with line ends of both kinds keep theirs', {
  files = { ['f.txt'] = 'a\r\nb\nc\r\nd\r\n' },
  config = EDITS,
  script = edits({ { 'f.txt', 'c', 'c1\nc2' } }),
}, function()
  vim.cmd.edit('f.txt')
  vim.cmd('Aside ask go')
  T.ended()
  T.equal(bytes('f.txt'), 'a\r\nb\nc1\r\nc2\r\nd\r\n')
end)

test('a letter that the encoding of the file lacks is not said to be saved', {
  files = { ['f.c'] = 'int a; // caf\233\nint b;\n' },
  config = EDITS,
  script = edits({ { 'f.c', 'int b;', 'int b; // a \226\134\146 b' } }),
}, function()
  vim.cmd.edit('f.c')
  vim.cmd('Aside ask go')
  T.ended()
  T.equal(vim.bo[vim.fn.bufnr('f.c')].modified, true)
  T.equal(bytes('f.c'), 'int a; // caf\233\nint b;\n')
  local function is_it(said) return said:find('f.c is changed and not saved', 1, true) ~= nil end
  T.wait('it is said', function() return vim.iter(T.said):any(is_it) end)
end)

test('a last line without an end keeps having none', {
  files = { ['f.txt'] = 'alpha\nbeta' },
  config = EDITS,
  script = edits({ { 'f.txt', 'alpha', 'ALPHA' } }),
}, function()
  vim.cmd.edit('f.txt')
  vim.cmd('Aside ask go')
  T.ended()
  T.equal(bytes('f.txt'), 'ALPHA\nbeta')
  T.equal(vim.bo[vim.fn.bufnr('f.txt')].fixendofline, true)
end)

test('a file that a tool changed is read again', {
  files = { ['f.txt'] = 'alpha\nbeta\n' },
  config = EDITS,
  script = edits({ { 'f.txt', 'changed', 'again' } }),
}, function()
  vim.cmd.edit('f.txt')
  -- The server has compared the file with the buffer as it was opened.
  local client, compared = require('aside.client'), false
  client.ready(function()
    client.request('aside/prompt/pending', vim.empty_dict(), function() compared = true end)
  end)
  T.wait('the server', function() return compared end)
  vim.fn.writefile({ 'changed', 'beta' }, 'f.txt')
  vim.uv.fs_utime('f.txt', os.time() + 10, os.time() + 10)
  vim.cmd('Aside ask go')
  T.ended()
  T.equal(bytes('f.txt'), 'again\nbeta\n')
  T.wait('the buffer', function() return T.buffer('f.txt') == 'again\nbeta' end)
end)

test('files are looked at once for all results that come at once', {
  files = { ['f.txt'] = 'alpha\n' },
  script = '[[reply]]\nfault = { stall = true }',
}, function()
  vim.cmd.edit('f.txt')
  vim.cmd('Aside ask go')
  T.wait('it runs', function()
    local running = require('aside.turn').running()
    return running and running.conversation
  end)
  local turn, looks = require('aside.turn'), 0
  vim.cmd.checktime = function() looks = looks + 1 end
  local id, conversation = turn.running().id, turn.running().conversation
  for call = 1, 9 do
    local update = { kind = 'toolResult', callId = 'call ' .. call, status = 'ok', summary = 'Done.' }
    turn.update({ turnId = id, conversationId = conversation, update = update })
  end
  T.draw()
  vim.cmd.checktime = nil
  T.equal(looks, 1)
end)

test('lines that differ in their carriage return alone are drawn', {
  files = { ['f.txt'] = 'aa\r\nbb\ncc\r\n', ['other.txt'] = 'x\n' },
  script = edits({ { 'f.txt', 'bb\n', 'BB\r\n' } }),
}, function()
  vim.cmd.edit('other.txt')
  vim.cmd('Aside ask go')
  T.prompts(1)
  vim.cmd('Aside answer')
  T.press('gY')
  T.ended()
  T.equal(bytes('f.txt'), 'aa\r\nBB\r\ncc\r\n')
end)

--- A random edit of each of many random files, and what has to be on disk afterwards.
local function random_files(count)
  math.randomseed(24)
  local pieces = { 'a', 'bc', '\195\169', '\240\157\132\158', '\226\128\168', '\f', '1%\r2%', '\t', '' }
  local function words()
    local text = ''
    for _ = 1, math.random(0, 3) do
      text = text .. pieces[math.random(#pieces)]
    end
    return text
  end
  local files, changes, after = {}, {}, {}
  for case = 1, count do
    local wide = math.random(2) == 1
    local before = ''
    for line = 1, math.random(1, 5) do
      local is_wide = wide ~= (math.random(4) == 1)
      before = before .. words() .. line .. (is_wide and '\r\n' or '\n')
    end
    -- The last line may have no end.
    local last = math.random(3) > 1 and (wide and '\r\n' or '\n') or ''
    local rest = words() .. 'x' .. last
    local name, new = ('f%d.txt'):format(case), words() .. 'y\n' .. words() .. 'z'
    files[name] = before .. 'named' .. rest
    changes[#changes + 1] = { name, 'named', new }
    after[name] = { before, new, rest }
  end
  return files, changes, after
end

local files, changes, after = random_files(200)

test('random edits land where they were named', { files = files, config = EDITS, script = edits(changes) }, function()
  for name in pairs(files) do
    vim.cmd.edit(name)
  end
  vim.cmd('Aside ask go')
  T.ended()
  for name, parts in pairs(after) do
    local now = bytes(name)
    T.equal(now:sub(1, #parts[1]), parts[1])
    T.equal(now:sub(-#parts[3]), parts[3])
    local new = now:sub(#parts[1] + 1, -#parts[3] - 1)
    T.equal((new:gsub('\r\n', '\n')), parts[2])
  end
end)

--- The program of a release, fetched after a question and held against its checksums.
local T = require('harness')
local test = T.test

--- A folder with what a release has for this system: a program that starts the one under test.
---@param change? fun(folder: string, name: string) spoils it
---@return string folder
local function release(change)
  local folder = vim.fn.tempname()
  local bin = folder .. '/aside-0.0.0/bin'
  vim.fn.mkdir(bin, 'p')
  vim.fn.writefile({ '#!/bin/sh', ('exec %s "$@"'):format(T.aside) }, bin .. '/aside')
  vim.uv.fs_chmod(bin .. '/aside', 493)
  local me = vim.uv.os_uname()
  local name = ('aside-%s.tar.gz'):format(require('aside.install').targets[me.sysname][me.machine])
  local script = [[tar -czf "$1" aside-0.0.0 && rm -r aside-0.0.0 && sha256sum "$1" >SHA256SUMS]]
  local done = vim.system({ 'sh', '-c', script, 'sh', name }, { cwd = folder, text = true }):wait()
  assert(done.code == 0, done.stderr)
  if change then change(folder, name) end
  return folder
end

local YES = 'Fetch and install it'

local path = vim.env.PATH

--- Nothing is found but what is installed.
local function away_from_path()
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder, 'p')
  for _, program in ipairs({ 'curl', 'tar', 'gzip', 'sha256sum', 'sh' }) do
    vim.uv.fs_symlink(vim.fn.exepath(program), folder .. '/' .. program)
  end
  vim.env.PATH = folder
end

--- Installs, and gives what is said at the end: an error as it is in the log, whole.
---@param from string
---@param choice string|false|nil none where nothing is asked
local function install(from, choice)
  vim.env.PATH = path
  T.choices = { choice }
  local over, installed = false, nil
  require('aside.install').run(from, function(it)
    over, installed = true, it
  end)
  T.wait('it ended', function() return over end)
  return installed, T.text(require('aside.log').path)
end

local script = [=[
[[reply]]
say = [{ text = "Installed, and here." }]
]=]

test('a release is fetched when the first question comes, and the question is asked', {
  absent = true,
  script = script,
}, function()
  local folder = release()
  vim.g.aside = { release = folder }
  away_from_path()
  T.choices = { YES }
  T.ask('Aside ask Are you there?')
  T.has(T.screen(), 'Installed, and here.')
  T.has(T.shown[1].prompt, vim.uri_from_fname(folder))
  T.equal(require('aside.server').find().source, 'where :Aside install puts it')
  vim.env.PATH = path
end)

test('nothing is fetched without a yes', { absent = true }, function()
  local installed = install(release(function(folder, name) vim.fn.delete(folder .. '/' .. name) end), 'No')
  T.equal(installed, false)
  T.has(T.said[#T.said], 'nothing was installed')
  T.equal(vim.fn.filereadable(require('aside.server').kept()), 0)
end)

--- Writes the checksums of a release anew.
local function sums(folder, name)
  local done = vim.system({ 'sh', '-c', 'sha256sum "$1" >SHA256SUMS', 'sh', name }, { cwd = folder }):wait()
  assert(done.code == 0)
end

--- Puts something else into the archive of a release: what a script makes.
local function packs(folder, name, commands)
  local packed = ('mkdir -p aside-0.0.0/bin && (cd aside-0.0.0 && %s) && tar -czf "$1" aside-0.0.0'):format(commands)
  local done = vim.system({ 'sh', '-c', packed, 'sh', name }, { cwd = folder, text = true }):wait()
  assert(done.code == 0, done.stderr)
  sums(folder, name)
end

--- What is wrong with a release, and what is said of it.
local wrong = {
  ['is changed on its way'] = {
    function(folder, name) vim.fn.writefile({ 'x' }, folder .. '/' .. name, 'a') end,
    'its checksum is another one; nothing was installed',
    YES,
  },
  ['has no program for this system'] = {
    function(folder) vim.fn.writefile({}, folder .. '/SHA256SUMS') end,
    'the release has no checksum for aside-',
  },
  ['lacks the file'] = {
    function(folder, name) vim.fn.delete(folder .. '/' .. name) end,
    'was not fetched: curl ended with code 37',
    YES,
  },
  ['has two checksums for the file'] = {
    function(folder, name) vim.fn.writefile({ ('0'):rep(64) .. '  ' .. name }, folder .. '/SHA256SUMS', 'a') end,
    'the release has more than one checksum for aside-',
  },
  ['has something else that is called so'] = {
    function(folder, name) packs(folder, name, 'echo "echo aside 1" >bin/aside-other') end,
    'has no program in it',
    YES,
  },
  ['is no archive'] = {
    function(folder, name)
      vim.fn.writefile({ 'x' }, folder .. '/' .. name)
      sums(folder, name)
    end,
    'was not unpacked: tar ended with code',
    YES,
  },
  ['has no checksums'] = { function(folder) vim.fn.delete(folder .. '/SHA256SUMS') end, 'SHA256SUMS was not fetched' },
}
for what, case in vim.spairs(wrong) do
  test('a release that ' .. what .. ' is not installed', { absent = true }, function()
    local installed, said = install(release(case[1]), case[3])
    T.equal(installed, false)
    T.has(said, case[2])
    T.equal(vim.fn.filereadable(require('aside.server').kept()), 0)
  end)
end

test('a program that does not run is not kept, and the one before stays', { absent = true }, function()
  local kept = require('aside.server').kept()
  assert(install(release(), YES))
  local before = T.text(kept)
  local installed, said =
    install(release(function(folder, name) packs(folder, name, 'echo exit 1 >bin/aside') end), YES)
  T.equal(installed, false)
  T.has(said, 'does not run here')
  T.equal(T.text(kept), before)
end)

test('another version takes the place of the one before, and both are said', { absent = true }, function()
  vim.g.aside = {}
  assert(install(release(), YES))
  local server = require('aside.server')
  local before = assert(server.find()).version
  local other = release(
    function(folder, name) packs(folder, name, [[printf '#!/bin/sh\necho aside 0.0.1\n' >bin/aside]]) end
  )
  local installed, said = install(other, YES)
  T.equal(installed, true)
  T.has(said, ('version 0.0.1 is in %s, in place of version %s'):format(server.kept(), before))
  T.equal(assert(server.find()).version, '0.0.1')
end)

test('an address that is not safe is refused before anything is asked', { absent = true }, function()
  for _, from in ipairs({ 'http://example.org/v1', 'ftp://example.org', 'nowhere' }) do
    local installed, said = install(from)
    T.equal(installed, false)
    T.has(said, from .. ' is neither an address that begins with https:// nor a folder')
  end
  vim.cmd('Aside install')
  T.has(T.said[#T.said], 'there is no address of a release')
end)

test('a link in place of the program is not followed', { absent = true }, function()
  local mine = vim.fn.tempname()
  vim.fn.writefile({ '#!/bin/sh', 'echo aside 1' }, mine)
  vim.uv.fs_chmod(mine, 384) -- 0600
  for _, commands in ipairs({ 'ln -s %s bin/aside', 'rmdir bin && mkdir bin.d && cp %s bin.d/aside && ln -s bin.d bin' }) do
    local folder = release(function(folder, name) packs(folder, name, commands:format(mine)) end)
    local installed, said = install(folder, YES)
    T.equal(installed, false)
    T.has(said, 'has no program in it')
  end
  T.equal(vim.uv.fs_stat(mine).mode % 512, 384)
end)

test('a folder is no pattern, and nothing but the program is left', { absent = true }, function()
  local tempname = vim.fn.tempname
  vim.fn.tempname = function() return tempname() .. " [a]{b}* $x 'ü" end
  local folder = release()
  local done, installed = pcall(install, folder, YES)
  vim.fn.tempname = tempname
  T.equal({ done, installed }, { true, true })
  local names = {}
  for name in vim.fs.dir(vim.fs.dirname(require('aside.server').kept())) do
    names[#names + 1] = name
  end
  T.equal(names, { 'aside' })
end)

test('a password in an address is neither shown nor logged', { absent = true }, function()
  local _, said = install('https://user:pass@word@localhost:1/[v1]')
  T.has(said, 'https://localhost:1/[v1]/SHA256SUMS was not fetched')
  T.lacks(said .. table.concat(T.said), 'word')
end)

--- Has something else run in place of curl.
---@param lines string[]?
local function without_curl(lines)
  away_from_path()
  local curl = vim.env.PATH .. '/curl'
  vim.fn.delete(curl)
  if lines then
    vim.fn.writefile(lines, curl)
    vim.uv.fs_chmod(curl, 493)
  end
end

test('a program that is missing is named', { absent = true }, function()
  local folder = release()
  without_curl()
  local over = false
  require('aside.install').run(folder, function() over = true end)
  vim.env.PATH = path
  T.wait('it ended', function() return over end)
  T.has(T.text(require('aside.log').path), 'there is no program curl on PATH; install it')
end)

test('a download ends with Neovim', { absent = true }, function()
  local folder = release()
  local pid = folder .. '/pid'
  without_curl({ '#!/bin/sh', 'echo $$ >' .. pid, ('exec %s 600'):format(vim.fn.exepath('sleep')) })
  local over = false
  require('aside.install').run(folder, function() over = true end)
  vim.env.PATH = path
  T.wait('curl runs', function() return vim.fn.getfsize(pid) > 0 end)
  vim.api.nvim_exec_autocmds('VimLeavePre', {})
  T.wait('it ended', function() return over end)
  T.has(T.text(require('aside.log').path), 'curl ended with signal 15')
  T.equal(vim.uv.kill(tonumber(T.text(pid)), 0), nil)
end)

test('every target of the packages is one that can be installed', {}, function()
  local packed, known = {}, {}
  for line in io.lines(T.repository .. '/.github/packages/targets.toml') do
    packed[#packed + 1] = line:match('^%[targets%.(.-)%]$')
  end
  for _, machines in pairs(require('aside.install').targets) do
    vim.list_extend(known, vim.tbl_values(machines))
  end
  table.sort(packed)
  table.sort(known)
  T.equal(known, packed)
end)

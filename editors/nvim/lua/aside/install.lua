--- `:Aside install`: fetches the program of a release, holds it against the release's checksums, and keeps it where
--- `server.find` looks. The checksums find what was damaged on its way; who made a release is not proven by them.
local log = require('aside.log')
local select = require('aside.select')
local server = require('aside.server')

local M = {}

--- The targets for which a release has programs, by system and machine as Neovim names them.
M.targets = {
  Linux = { x86_64 = 'x86_64-unknown-linux-musl', aarch64 = 'aarch64-unknown-linux-musl' },
  Darwin = { x86_64 = 'x86_64-apple-darwin', arm64 = 'aarch64-apple-darwin' },
  Windows_NT = { x86_64 = 'x86_64-pc-windows-msvc' },
}

--- How the digest of a file is printed; the first program that is there counts.
local DIGESTS = { { 'sha256sum' }, { 'shasum', '-a', '256' }, { 'certutil', '-hashfile' } }

--- The mode of folders into which nobody else looks.
local PRIVATE = '0o700'

--- What a download may take, in seconds and bytes.
local PATIENCE, LIMIT = '600', '100000000'

--- Runs a program to its end while Neovim goes on, and fails with what it said. Within a coroutine alone.
---@param command string[]
---@param what string what it is for, as what failed
---@return string printed
local function run(command, what)
  local me = coroutine.running()
  local function ended(done)
    vim.schedule(function() coroutine.resume(me, done) end)
  end
  local started, why = pcall(vim.system, command, { text = true }, ended)
  if not started then error(('%s: %s'):format(what, why), 0) end
  local done = coroutine.yield() ---@type vim.SystemCompleted
  if done.code ~= 0 then
    local said = vim.trim(done.stderr ~= '' and done.stderr or done.stdout or '')
    error(('%s: %s ended with code %d%s'):format(what, command[1], done.code, said ~= '' and ': ' .. said or ''), 0)
  end
  return done.stdout or ''
end

--- The target of this system.
---@return string
local function target()
  local me = vim.uv.os_uname()
  local found = (M.targets[me.sysname] or {})[me.machine]
  if found then return found end
  error(('a release has no program for %s on %s; build it, as its README says'):format(me.sysname, me.machine), 0)
end

--- The address of a release: one of the web, or a folder's.
---@param from string
---@return string
local function address_of(from)
  if from:find('^https://') then return (from:gsub('/+$', '')) end
  local folder = vim.fn.fnamemodify(from, ':p')
  if vim.fn.isdirectory(folder) == 1 then return vim.uri_from_fname((folder:gsub('(.)[/\\]+$', '%1'))) end
  error(('%s is neither an address that begins with https:// nor a folder'):format(from), 0)
end

---@param address string
---@param file string where it goes
local function fetch(address, file)
  local bounds = { '--connect-timeout', '30', '--max-time', PATIENCE, '--max-filesize', LIMIT }
  local only = { '--proto', '=https,file', '--proto-redir', '=https' }
  local command = { 'curl', '--fail', '--silent', '--show-error', '--location' }
  vim.list_extend(vim.list_extend(command, only), bounds)
  run(vim.list_extend(command, { '--output', file, address }), ('%s was not fetched'):format(address))
end

--- The SHA-256 of a file, in small hexadecimal digits.
---@param file string
---@return string
local function digest(file)
  for _, program in ipairs(DIGESTS) do
    if vim.fn.executable(program[1]) == 1 then
      local command = vim.list_extend(vim.deepcopy(program), { file })
      if program[1] == 'certutil' then command[#command + 1] = 'SHA256' end
      -- A name with a backslash has one before its line.
      for line in run(command, 'the checksum was not computed'):gmatch('[^\r\n]+') do
        local found = line:match('^\\?(%x+)')
        if found and #found == 64 then return found:lower() end
      end
      error(('the checksum was not computed: %s printed none'):format(program[1]), 0)
    end
  end
  error('the checksum was not computed: there is no sha256sum, shasum or certutil', 0)
end

--- The checksum that a release has for a file.
---@param sums string the file `SHA256SUMS`
---@param name string
---@return string
local function checksum(sums, name)
  for _, line in ipairs(vim.fn.readfile(sums)) do
    local found, of = line:match('^(%x+) [ *](.+)$')
    if of == name and #found == 64 then return found:lower() end
  end
  error(('the release has no checksum for %s'):format(name), 0)
end

--- The archive of this system in a release.
---@param sums string the file `SHA256SUMS`
---@return string name
local function archive_of(sums)
  local kind = vim.fn.has('win32') == 1 and 'zip' or 'tar.gz'
  local name = ('aside-%s.%s'):format(target(), kind)
  checksum(sums, name)
  return name
end

--- The program that unpacks. On Windows that of the system knows zip, others on PATH may not.
---@return string
local function tar() return vim.fn.has('win32') == 1 and vim.env.SystemRoot .. '\\System32\\tar.exe' or 'tar' end

--- Puts a program where it is looked for, if it runs, and at once: what runs from there runs on.
---@param program string
---@return string version
local function keep(program)
  local place = server.kept()
  vim.fn.mkdir(vim.fs.dirname(place), 'p', PRIVATE)
  vim.uv.fs_chmod(program, 493) -- 0755
  local version = server.version(program)
  if not version then error('the program of the release does not run here; build it, as its README says', 0) end
  local beside = place .. '.new'
  local copied, why = vim.uv.fs_copyfile(program, beside)
  if copied then
    copied, why = vim.uv.fs_rename(beside, place)
  end
  if not copied then
    vim.uv.fs_unlink(beside)
    error(('the program could not be kept: %s'):format(why), 0)
  end
  return version
end

--- Asks whether it may be fetched, with what comes from where and goes where. Within a coroutine alone.
---@param address string
---@param name string
---@return boolean
local function may(address, name)
  local me, yes = coroutine.running(), 'Fetch and install it'
  local prompt = ('Aside: %s from %s'):format(name, address)
  local function chosen(choice)
    vim.schedule(function() coroutine.resume(me, choice == yes) end)
  end
  select({ yes, 'No' }, { prompt = prompt, kind = 'aside', format_item = tostring }, chosen)
  return coroutine.yield()
end

--- Fetches what a release has for this system into a folder, and keeps its program.
---@param from string
---@param folder string
---@return string? version none where the person did not want it
local function install(from, folder)
  local address = address_of(from)
  local sums = vim.fs.joinpath(folder, 'SHA256SUMS')
  fetch(address .. '/SHA256SUMS', sums)
  local name = archive_of(sums)
  if not may(address, name) then return nil end
  log.say(('fetching %s'):format(name))
  local archive = vim.fs.joinpath(folder, name)
  fetch(('%s/%s'):format(address, name), archive)
  if digest(archive) ~= checksum(sums, name) then
    error(('%s is not what the release says: its checksum is another one; nothing was installed'):format(name), 0)
  end
  run({ tar(), '-xf', archive, '-C', folder }, ('%s was not unpacked'):format(name))
  local program = vim.fn.glob(vim.fs.joinpath(vim.fn.escape(folder, '[]*?'), 'aside-*', 'bin', 'aside*'), true, true)[1]
  if not program then error(('%s has no program in it'):format(name), 0) end
  return keep(program)
end

--- Installs the program of a release, after the person was asked.
---@param from? string an address, or a folder; without one that of the configuration
---@param done? fun(installed: boolean)
function M.run(from, done)
  from = from or require('aside.config').get().release
  done = done or function() end
  if from == '' then
    log.fail('there is no address of a release', ' — :Aside install https://…')
    return done(false)
  end
  coroutine.wrap(function()
    local folder = vim.fn.tempname()
    vim.fn.mkdir(folder, 'p', PRIVATE)
    local ok, result = pcall(install, from, folder)
    vim.fn.delete(folder, 'rf')
    if ok then
      local said = result and ('version %s is in %s'):format(result, server.kept()) or 'nothing was installed'
      log.write(said)
      log.say(said)
    else
      log.fail(result --[[@as string]])
    end
    done(ok and result ~= nil)
  end)()
end

return M

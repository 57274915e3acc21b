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

--- What a download may take, in seconds, and how many bytes an archive and its checksums may have.
local PATIENCE, ARCHIVE, SUMS = '600', '100000000', '1000000'

--- Runs a program to its end while Neovim goes on, and fails with what it said. Within a coroutine alone.
---@param command string[]
---@param what string what it is for, as what failed
---@param advice string what to do about it
---@return string printed
local function run(command, what, advice)
  if vim.fn.executable(command[1]) == 0 then
    error(('%s: there is no program %s on PATH; install it, and try again'):format(what, command[1]), 0)
  end
  local me = coroutine.running()
  local function ended(done)
    vim.schedule(function() coroutine.resume(me, done) end)
  end
  local started, process = pcall(vim.system, command, { text = true }, ended)
  if not started then error(('%s: %s'):format(what, server.reason(process)), 0) end
  -- Else it would go on after Neovim, and write into a folder that is gone.
  local leaves = vim.api.nvim_create_autocmd('VimLeavePre', { callback = function() process:kill('sigterm') end })
  local done = coroutine.yield() ---@type vim.SystemCompleted
  pcall(vim.api.nvim_del_autocmd, leaves)
  if done.code ~= 0 or done.signal ~= 0 then
    local said = vim.trim(done.stderr ~= '' and done.stderr or done.stdout or '')
    -- Of several lines the first one is the cause, and the log has all.
    if said:find('\n') then log.write(said) end
    said = said:match('^[^\n]*'):gsub('^%w+: ', ''):gsub('^%(%d+%) ', '')
    local how = done.code ~= 0 and ('code %d'):format(done.code) or ('signal %d'):format(done.signal)
    local why = ('%s: %s ended with %s%s'):format(what, command[1], how, said ~= '' and ': ' .. said or '')
    error(('%s; %s'):format(why, advice), 0)
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
  local wrong = '%s is neither an address that begins with https:// nor a folder; give where the files of a release are'
  error(wrong:format(from), 0)
end

--- An address as it is shown and logged: without a name and a password, which also make it look like another one's.
---@param address string
---@return string
local function shown(address) return (address:gsub('^(https://)[^/?#]*@', '%1')) end

---@param address string
---@param file string where it goes
---@param limit string bytes
local function fetch(address, file, limit)
  local bounds = { '--connect-timeout', '30', '--max-time', PATIENCE, '--max-filesize', limit }
  local only = { '--proto', '=https,file', '--proto-redir', '=https' }
  -- What is in brackets is part of the address, and no list of several.
  local command = { 'curl', '--fail', '--silent', '--show-error', '--location', '--globoff' }
  vim.list_extend(vim.list_extend(command, only), bounds)
  local advice = ('check the address, the network and the room in %s, and try again'):format(vim.fs.dirname(file))
  run(vim.list_extend(command, { '--output', file, address }), ('%s was not fetched'):format(shown(address)), advice)
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
      for line in run(command, 'the checksum was not computed', 'try again'):gmatch('[^\r\n]+') do
        local found = line:match('^\\?(%x+)')
        if found and #found == 64 then return found:lower() end
      end
      error(('the checksum was not computed: %s printed none; see what it is'):format(program[1]), 0)
    end
  end
  error('the checksum was not computed: there is no sha256sum, shasum or certutil on PATH; install one', 0)
end

--- The checksum that a release has for a file.
---@param sums string the file `SHA256SUMS`
---@param name string
---@return string
local function checksum(sums, name)
  local checksums = {}
  for _, line in ipairs(vim.fn.readfile(sums)) do
    local found, of = line:match('^(%x+) [ *](.+)$')
    if of == name and #found == 64 then checksums[found:lower()] = true end
  end
  local found, another = next(checksums), nil
  if found then another = next(checksums, found) end
  if found and not another then return found end
  local count = found and 'more than one checksum' or 'no checksum'
  local wrong = 'the release has %s for %s in its SHA256SUMS; give the address of another release'
  error(wrong:format(count, name), 0)
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

--- The program in what was unpacked: a file, to which no link leads.
---@param folder string
---@return string?
local function program_in(folder)
  local function is(kind, path) return (vim.uv.fs_lstat(path) or {}).type == kind end
  for entry in vim.fs.dir(folder) do
    local top = vim.fs.joinpath(folder, entry)
    local bin = vim.fs.joinpath(top, 'bin')
    local program = vim.fs.joinpath(bin, vim.fs.basename(server.kept()))
    if entry:find('^aside%-') and is('directory', top) and is('directory', bin) and is('file', program) then
      return program
    end
  end
end

--- Puts a program where it is looked for, if it runs there, and at once: what runs from there runs on.
---@param program string
---@return string version
---@return string? before the version that was there
local function keep(program)
  local place = server.kept()
  local folder = vim.fs.dirname(place)
  local function lacks(why)
    error(('the program was not put into %s: %s; see to that, and try again'):format(folder, server.reason(why)), 0)
  end
  local there, said = pcall(vim.fn.mkdir, folder, 'p', PRIVATE)
  if not there then lacks(said) end
  -- Of its own for each Neovim, since several may install.
  local mine, why = vim.uv.fs_mkdtemp(vim.fs.joinpath(folder, 'new-XXXXXX'))
  if not mine then return lacks(why) end
  local beside = vim.fs.joinpath(mine, vim.fs.basename(place))
  vim.uv.fs_chmod(program, 493) -- 0755
  local version, broken ---@type string?, string?
  local done
  done, why = vim.uv.fs_copyfile(program, beside)
  -- It is tried there, because programs may not run in a folder for what is temporary.
  if done then
    version, broken = server.version(beside)
  end
  local before ---@type string?
  if version then
    before = vim.uv.fs_stat(place) and server.version(place) or nil
    done, why = vim.uv.fs_rename(beside, place)
  end
  vim.fn.delete(mine, 'rf')
  if not done then lacks(why) end
  if version then return version, before end
  local wrong = 'the program of the release does not run here, in %s: %s; build it, as its README says'
  error(wrong:format(folder, broken), 0)
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
---@return string? before the version that was there
local function install(from, folder)
  local address = address_of(from)
  vim.fn.mkdir(folder, 'p', PRIVATE)
  local sums = vim.fs.joinpath(folder, 'SHA256SUMS')
  fetch(address .. '/SHA256SUMS', sums, SUMS)
  local name = archive_of(sums)
  if not may(shown(address), name) then return nil end
  log.say(('fetching %s'):format(name))
  local archive = vim.fs.joinpath(folder, name)
  fetch(('%s/%s'):format(address, name), archive, ARCHIVE)
  if digest(archive) ~= checksum(sums, name) then
    local wrong = '%s is not what the release says: its checksum is another one; nothing was installed, so try again'
    error(wrong:format(name), 0)
  end
  local advice = ('check for gzip and for room in %s, or give the address of another release'):format(folder)
  run({ tar(), '-xf', archive, '-C', folder }, ('%s was not unpacked'):format(name), advice)
  local program = program_in(folder)
  if not program then error(('%s has no program in it; give the address of another release'):format(name), 0) end
  return keep(program)
end

--- What is said of the program that was installed, and whether it is the one that answers.
---@param version string
---@param before? string the version that was there
---@return string
local function installed(version, before)
  local instead = before and before ~= version and (', in place of version %s'):format(before) or ''
  local said = ('version %s is in %s%s'):format(version, server.kept(), instead)
  server.forget()
  local found = server.find()
  if found and found.path ~= server.kept() then
    return ('%s, but %s comes first, by %s'):format(said, found.path, found.source)
  end
  return said .. (require('aside.client').alive() and '; :Aside stop ends the one that runs' or '')
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
    local ok, result, before = pcall(install, from, folder)
    vim.fn.delete(folder, 'rf')
    if ok then
      local said = result and installed(result, before) or 'nothing was installed'
      log.write(said)
      log.say(said)
    else
      log.fail(result --[[@as string]])
    end
    done(ok and result ~= nil)
  end)()
end

return M

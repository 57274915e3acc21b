--- Does what editors/nvim/README.md says, line by line, from a local git repository, up to a first answered question:
--- nvim --clean -n -l first.lua, with ASIDE set. Only `cargo install` is not run: the program is put where that puts it.
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local repository = vim.fs.dirname(vim.fs.dirname(here))
local PATIENCE = 60000
local passed, failed = 0, 0

local function run(command, options)
  local result = vim.system(command, vim.tbl_extend('force', { text = true }, options or {})):wait(60000)
  assert(result.code == 0, table.concat(command, ' ') .. ': ' .. result.stdout .. result.stderr)
  return result.stdout
end

--- The code of the page, by its language.
local blocks = {}
for language, text in
  table.concat(vim.fn.readfile(repository .. '/editors/nvim/README.md'), '\n'):gmatch('```(%a+)\n(.-)\n```')
do
  blocks[#blocks + 1] = { language = language, text = text }
end

--- A repository with what is in this one for the plugin.
local function local_repository(folder)
  vim.fn.mkdir(folder .. '/editors', 'p')
  run({ 'cp', '-r', repository .. '/editors/nvim', folder .. '/editors/nvim' })
  run({ 'git', 'init', '--quiet', folder })
  local identity = { '-c', 'user.name=Ada', '-c', 'user.email=ada@example.org' }
  run({ 'git', '-C', folder, 'add', '--all' })
  run(vim.list_extend(vim.list_extend({ 'git', '-C', folder }, identity), { 'commit', '--quiet', '--message', 'All' }))
end

--- Starts the last line of the page on a terminal, and gives its commands as they are typed.
local function try(name, prepare)
  local folder = vim.fn.tempname()
  local home = folder .. '/home'
  vim.fn.mkdir(home .. '/.cargo/bin', 'p')
  vim.fn.mkdir(folder .. '/work', 'p')
  vim.uv.fs_symlink(vim.env.ASIDE, home .. '/.cargo/bin/aside')
  vim.uv.fs_symlink(vim.v.progpath, home .. '/nvim')
  local_repository(folder .. '/repository')
  local env =
    { HOME = home, REPOSITORY = folder .. '/repository', TERM = 'xterm-256color', PATH = home .. ':' .. vim.env.PATH }
  for _, kind in ipairs({ 'CONFIG', 'DATA', 'STATE', 'CACHE' }) do
    env['XDG_' .. kind .. '_HOME'] = nil
  end
  env.XDG_CONFIG_HOME, env.XDG_DATA_HOME = home .. '/.config', home .. '/.local/share'
  env.XDG_STATE_HOME, env.XDG_CACHE_HOME = home .. '/.local/state', home .. '/.cache'
  local lines, last = prepare(home)
  local socket = folder .. '/socket'
  local script = table.concat(lines, '\n') .. '\nexec ' .. last .. ' --listen ' .. socket
  local terminal = vim.fn.jobstart({ 'bash', '-euc', script }, {
    pty = true,
    width = 100,
    height = 30,
    cwd = folder .. '/work',
    env = env,
    on_stdout = function() end,
  })
  local channel
  assert(
    vim.wait(PATIENCE, function()
      local ok, made = pcall(vim.fn.sockconnect, 'pipe', socket, { rpc = true })
      channel = ok and made or nil
      return ok
    end, 20),
    'Neovim did not start'
  )
  local asked = 0
  local function ask(code)
    local mode = vim.rpcrequest(channel, 'nvim_get_mode')
    -- vim.pack asks before it clones, and may take a key that comes too early for none.
    local asks = mode.mode == 'r?'
    asked = asked + (asks and 1 or 0)
    if asks and asked % 25 == 1 then vim.fn.chansend(terminal, 'y') end
    return not mode.blocking and vim.rpcrequest(channel, 'nvim_exec_lua', code, {})
  end
  local function wait(what, code)
    assert(vim.wait(PATIENCE, function() return ask(code) end, 20), 'waited in vain: ' .. what)
  end
  wait('it has begun', "return vim.v.vim_did_enter == 1 and vim.fn.exists(':Aside') == 2")
  local commands = vim.split(blocks[2].text, '\n')
  vim.fn.chansend(terminal, commands[1] .. '\r')
  wait('the question', "return #require('aside.prompt').open() == 1")
  vim.fn.chansend(terminal, commands[2] .. '\r')
  -- The number is typed in the list.
  wait('the list', "return vim.api.nvim_win_get_config(0).relative == 'editor'")
  vim.fn.chansend(terminal, '1\r')
  wait(
    'the answer',
    [[
    local view = require('aside.view').of()
    return table.concat(vim.api.nvim_buf_get_lines(view.buf, 0, -1, true), ' '):find('Tabs it is.', 1, true) ~= nil]]
  )
  wait('the help', "return pcall(vim.cmd, 'help aside') and vim.bo.filetype == 'help'")
  vim.fn.jobstop(terminal)
  vim.fn.chanclose(channel)
  return name
end

local function test(name, prepare)
  local ok, why = pcall(try, name, prepare)
  passed, failed = passed + (ok and 1 or 0), failed + (ok and 0 or 1)
  io.stdout:write(('%s %s\n'):format(ok and 'ok    ' or 'FAILED', ok and name or name .. ': ' .. tostring(why)))
end

--- The lines of the page for a shell, without the one that builds for minutes.
local function shell()
  local lines = vim.split(blocks[1].text, '\n')
  assert(vim.startswith(lines[2], 'cargo install '), 'the second line installs the program')
  table.remove(lines, 2)
  return lines, table.remove(lines)
end

test('plain packages, as the page says', function() return shell() end)

--- A configuration, and the variable of the page with the folder in which a manager puts the repository.
local function configure(home, lines, folder)
  vim.fn.mkdir(home .. '/.config/nvim', 'p')
  vim.fn.writefile(lines, home .. '/.config/nvim/init.lua')
  local all, last = shell()
  local export = vim.iter(all):find(function(line) return vim.startswith(line, 'export') end)
  return { (export:gsub('site/pack/aside/opt', folder)) }, last
end

if vim.fn.has('nvim-0.12') == 1 then
  test(
    'vim.pack, as the page says',
    function(home) return configure(home, vim.split(blocks[3].text, '\n'), 'site/pack/core/opt') end
  )
end

-- The manager itself is not here: what it does with such a table is done in its place.
test('lazy.nvim, as the page says', function(home)
  local lines = vim.split('local plugin = ' .. blocks[4].text, '\n')
  vim.list_extend(lines, {
    'plugin.dir = vim.fn.stdpath("data") .. "/lazy/" .. plugin.name',
    'vim.fn.system({ "git", "clone", "--quiet", plugin.url, plugin.dir })',
    'vim.opt.rtp:prepend(plugin.dir)',
    'plugin.config(plugin)',
  })
  return configure(home, lines, 'lazy')
end)
io.stdout:write(('%d passed, %d failed\n'):format(passed, failed))
os.exit(failed == 0 and 0 or 1)

--- Finds the program: the one that is set, else on PATH, else where cargo or `:Aside install` puts it.
local M = {}

--- Advice if no server is found.
M.advice = 'fetch a release with `:Aside install https://…`, build it with `cargo install --path . --profile dist` in its '
  .. 'repository, or set vim.g.aside.server'

---@class aside.Server
---@field path string
---@field version string
---@field source string where it was found

local found ---@type aside.Server?
local is_windows = vim.fn.has('win32') == 1

---@param path string
local function is_absolute(path) return path:find(is_windows and '^%a:[/\\]' or '^/') ~= nil end

--- The path of what is there, without links and with slashes alone.
---@param path string
---@return string?
local function real_of(path)
  local real = vim.uv.fs_realpath(path)
  return real and (is_windows and real:gsub('\\', '/') or real)
end

--- The code of a program that was ended because it was too slow, as Neovim has it.
local SLOW = 124

--- Runs a program to its end, which Neovim waits for.
---@param command string[]
---@param timeout integer milliseconds
---@return vim.SystemCompleted
function M.run(command, timeout)
  local started, process = pcall(vim.system, command, { text = true, timeout = timeout })
  if not started then return { code = -1, signal = 0, stdout = '', stderr = tostring(process) } end
  -- Of one that was too slow there is nothing where a child of it still holds what it prints to.
  return process:wait() or { code = SLOW, signal = 0, stdout = '', stderr = '' }
end

--- Why something could not be done, without the names that the system, Vim and Lua add.
---@param said string
---@return string
function M.reason(said) return vim.trim(said:match('%f[%w]E%u+: ([^:(]+)') or said:match('%f[%w]E%d+: (.+)') or said) end

--- The version of a program that is Aside, or why it is none.
---@param path string
---@return string? version
---@return string? why
function M.version(path)
  local done = M.run({ path, '--version' }, 5000)
  local version = done.stdout:match('^aside (%S+)')
  if version then return version end
  if done.code == -1 then return nil, 'it does not start: ' .. M.reason(done.stderr) end
  if done.code == SLOW then return nil, '`--version` did not end within 5 seconds' end
  return nil, ('`--version` ended with code %d and did not print a version of aside'):format(done.code)
end

--- The place of what `:Aside install` fetched.
---@return string
function M.kept()
  local name = is_windows and 'aside.exe' or 'aside'
  return vim.fs.joinpath(vim.fn.stdpath('data') --[[@as string]], 'aside', 'bin', name)
end

--- The folders in which a model's commands may write: the current one, and the topmost repositories of it and of what is
--- open. The home does not count, in which people keep programs.
---@return string[] folders real paths that end in `/`
local function open_folders()
  local folders = {}
  local function add(path)
    local topmost = path
    for folder in vim.fs.parents(vim.fs.joinpath(path, 'x')) do
      if vim.uv.fs_stat(vim.fs.joinpath(folder, '.git')) then topmost = folder end
    end
    for _, folder in ipairs({ path, topmost }) do
      local real = vim.uv.fs_realpath(folder)
      if real and real ~= '/' and real ~= vim.uv.fs_realpath(vim.env.HOME or '/') then
        folders[#folders + 1] = real .. '/'
      end
    end
  end
  add(vim.fn.getcwd())
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buffer)
    if vim.bo[buffer].buftype == '' and is_absolute(name) then add(vim.fs.dirname(name)) end
  end
  return folders
end

--- Whether a folder of programs belongs to a project: an environment of Python, or what a package manager of Node installed.
---@param folder string
local function is_of_project(folder)
  return vim.uv.fs_stat(vim.fs.joinpath(folder, '..', 'pyvenv.cfg')) ~= nil
    or folder:find('/node_modules/', 1, true) ~= nil
end

--- The program on PATH, unless it lies where a model's commands may write.
---@return string path empty where there is none
local function on_path()
  local open = open_folders()
  for folder in vim.gsplit(vim.env.PATH or '', is_windows and ';' or ':', { plain = true }) do
    local file = vim.fs.joinpath(folder, is_windows and 'aside.exe' or 'aside')
    local real = is_absolute(folder) and vim.fn.executable(file) == 1 and real_of(file)
    local function holds(it)
      return vim.startswith(real --[[@as string]], it)
    end
    if real and not is_of_project(folder .. '/') and not vim.iter(open):any(holds) then return file end
  end
  return ''
end

--- Has the program looked for anew, after another one was put in its place.
function M.forget() found = nil end

--- The program, proven by `aside --version`, or nothing and the reason for each place where it was looked for.
---@return aside.Server?
---@return string[] reasons
function M.find()
  local set = require('aside.config').get().server
  local cargo = vim.env.CARGO_HOME or vim.fs.joinpath(vim.env.HOME or '', '.cargo')
  ---@type string[][]
  local places = {
    { 'PATH', on_path() },
    { 'where cargo installs', vim.fs.joinpath(cargo, 'bin', 'aside') },
    { 'where :Aside install puts it', M.kept() },
  }
  if set ~= '' then places = { { 'vim.g.aside.server', vim.fn.expand(set) } } end
  local reasons = {}
  for _, place in ipairs(places) do
    local source, path = place[1], place[2]
    if found and found.path == path then return found, {} end
    local why = 'there is no such program'
    if vim.fn.executable(path) == 1 then
      local version, broken = M.version(path)
      found = version and { path = path, version = version, source = source }
      if found then return found, {} end
      why = broken --[[@as string]]
    end
    reasons[#reasons + 1] = ('%s%s: %s'):format(source, path ~= '' and (' (%s)'):format(path) or '', why)
  end
  return nil, reasons
end

return M

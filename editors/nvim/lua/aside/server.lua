--- Finds the program: the one that is set, else on PATH, else where cargo installs.
local M = {}

--- Advice if no server is found.
M.advice = 'install it with `cargo install --path . --profile dist` in its repository, or set vim.g.aside.server'

---@class aside.Server
---@field path string
---@field version string
---@field source string where it was found

local found ---@type aside.Server?

--- Runs a program to its end, which Neovim waits for.
---@param command string[]
---@param timeout integer milliseconds
---@return vim.SystemCompleted
function M.run(command, timeout)
  local started, process = pcall(vim.system, command, { text = true, timeout = timeout })
  return started and process:wait() or { code = -1, signal = 0, stdout = '', stderr = tostring(process) }
end

--- The program on PATH, unless it lies in the repository that is open: a model's commands write there.
---@return string path empty where there is none
local function on_path()
  local root = vim.fs.root(0, '.git')
  root = root and vim.uv.fs_realpath(root)
  for folder in vim.gsplit(vim.env.PATH or '', ':', { plain = true }) do
    local file = vim.fs.joinpath(folder, 'aside')
    local real = vim.startswith(folder, '/') and vim.fn.executable(file) == 1 and vim.uv.fs_realpath(file)
    local mine = real and root and root ~= vim.env.HOME and vim.startswith(real, root .. '/')
    if real and not mine then return file end
  end
  return ''
end

--- The program, proven by `aside --version`, or nothing and the reason for each place where it was looked for.
---@return aside.Server?
---@return string[] reasons
function M.find()
  local set = require('aside.config').get().server
  local cargo = vim.env.CARGO_HOME or vim.fs.joinpath(vim.env.HOME or '', '.cargo')
  local places = { PATH = on_path(), ['where cargo installs'] = vim.fs.joinpath(cargo, 'bin', 'aside') }
  if set ~= '' then places = { ['vim.g.aside.server'] = vim.fn.expand(set) } end
  local reasons = {}
  for source, path in vim.spairs(places) do
    if found and found.path == path then return found, {} end
    local why = 'there is no such program'
    if vim.fn.executable(path) == 1 then
      local done = M.run({ path, '--version' }, 5000)
      local version = done.stdout:match('^aside (%S+)')
      found = version and { path = path, version = version, source = source }
      if found then return found, {} end
      why = ('`--version` ended with code %d and did not print a version of aside'):format(done.code)
    end
    reasons[#reasons + 1] = ('%s%s: %s'):format(source, path ~= '' and (' (%s)'):format(path) or '', why)
  end
  return nil, reasons
end

return M

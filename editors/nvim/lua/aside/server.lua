--- Finds the program: the one that is set, else on PATH, else where cargo installs.
local M = {}

--- What to do where there is none.
M.advice = 'install it with `cargo install --path . --profile dist` in its repository, or set vim.g.aside.server'

---@class aside.Server
---@field path string
---@field version string
---@field source string where it was found

local found ---@type aside.Server?

---@param path string
---@return string? version
---@return string why it is not the server
local function prove(path)
  if vim.fn.executable(path) ~= 1 then return nil, 'there is no such program' end
  local ok, done = pcall(
    function() return vim.system({ path, '--version' }, { text = true, timeout = 5000 }):wait() end
  )
  if not ok then return nil, 'it cannot be started: ' .. tostring(done) end
  local why = ('`--version` ended with code %d and did not print a version of aside'):format(done.code)
  return done.stdout:match('^aside (%S+)'), why
end

--- The program, proven by `aside --version`, or nothing and the reason for each place where it was looked for.
---@return aside.Server?
---@return string[] reasons
function M.find()
  local set = require('aside.config').get().server
  local cargo = vim.env.CARGO_HOME or vim.fs.joinpath(vim.env.HOME or '', '.cargo')
  local places ---@type string[][]
  places = {
    { 'PATH', vim.fn.exepath('aside') },
    { 'where cargo installs', vim.fs.joinpath(cargo, 'bin', 'aside') },
  }
  if set ~= '' then places = { { 'vim.g.aside.server', vim.fn.expand(set) } } end
  local reasons = {}
  for _, place in ipairs(places) do
    local source, path = unpack(place)
    if found and found.path == path then return found, {} end
    local version, why = prove(path)
    if version then
      found = { path = path, version = version, source = source }
      return found, {}
    end
    reasons[#reasons + 1] = ('%s%s: %s'):format(source, path ~= '' and (' (%s)'):format(path) or '', why)
  end
  return nil, reasons
end

return M

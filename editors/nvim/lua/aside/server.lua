--- Finds the program: the one that is set, else on PATH, else where cargo installs.
local M = {}

---@class aside.Server
---@field path string
---@field version string
---@field source string where it was found

---@type aside.Server?
local found

---@param path string
---@return string? version
---@return string? why it is not the server
local function prove(path)
  if vim.fn.executable(path) ~= 1 then
    return nil, 'there is no such program'
  end
  local ok, result = pcall(function()
    return vim.system({ path, '--version' }, { text = true, timeout = 5000 }):wait()
  end)
  if not ok then
    return nil, 'it cannot be started: ' .. tostring(result)
  end
  local version = (result.stdout or ''):match('^aside (%S+)')
  if result.code ~= 0 or not version then
    return nil, ('`--version` ended with code %d and did not print a version of aside'):format(result.code)
  end
  return version
end

--- The program, proven by `aside --version`, or nothing and the reason for each place where it was looked for.
---@return aside.Server?
---@return string[] reasons
function M.find()
  local set = require('aside.config').get().server
  local cargo = vim.fs.joinpath(vim.env.CARGO_HOME or vim.fs.joinpath(vim.env.HOME or '', '.cargo'), 'bin', 'aside')
  local places = {
    { 'PATH', vim.fn.exepath('aside') },
    { 'where cargo installs', cargo },
  }
  if set then
    places = { { 'vim.g.aside.server', vim.fn.expand(set) } }
  end
  if found and (found.path == places[1][2] or found.path == cargo and not set) then
    return found, {}
  end
  local reasons = {}
  for _, place in ipairs(places) do
    local source, path = place[1], place[2]
    local version, why
    if path == '' then
      why = 'there is no program called aside'
    else
      version, why = prove(path)
    end
    if version then
      found = { path = path, version = version, source = source }
      return found, {}
    end
    reasons[#reasons + 1] = ('%s%s: %s'):format(source, path ~= '' and (' (' .. path .. ')') or '', why)
  end
  return nil, reasons
end

--- What to do where there is none.
M.advice = 'install it with `cargo install --path . --profile dist` in its repository, or set vim.g.aside.server'

return M

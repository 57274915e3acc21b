--- What the user configures: `vim.g.aside`, a table or a function that returns one. Nothing has to be set.

---@class aside.Config
---@field server? string The program, where it is neither on PATH nor where cargo installs.
---@field settings? table What `aside.toml` may say, as yours: { assistant = { model = 'anthropic/…' } }.
---@field root_markers? string[] What a project's folder has in it.
---@field notify? boolean Whether a line below says that something waits.
---@field sign? string What stands in the sign column where something waits, at most two cells wide.
---@field width? integer The most columns of an answer beside the code.
---@field height? integer The most lines of an answer beside the code.
---@field keys? aside.Keys

--- Keys of Aside's own windows, and of a file while the person looks at a change of it. `false` leaves one out.
---@class aside.Keys
---@field accept? string|false Take the change under the cursor.
---@field reject? string|false Leave it out.
---@field accept_all? string|false Take all changes that are not decided.
---@field accept_turn? string|false The same, and all later edits of the turn.
---@field reject_all? string|false Refuse the whole; a note may say why.
---@field next? string|false Go to the next change.
---@field previous? string|false Go to the change before.
---@field choose? string|false Answer, where a question is too long to stand above its answers.
---@field hide? string|false Close the window. What waits goes on waiting.
---@field pin? string|false Show an answer in a split.
---@field reply? string|false Say more in an answer's conversation.

local M = {}

---@type aside.Config
M.defaults = {
  settings = {},
  root_markers = { 'aside.toml', '.git' },
  notify = true,
  sign = '?',
  width = 80,
  height = 24,
  keys = {
    accept = 'gy',
    reject = 'gn',
    accept_all = 'gY',
    accept_turn = 'g!',
    reject_all = 'gN',
    next = ']h',
    previous = '[h',
    choose = '<CR>',
    hide = 'q',
    pin = 'P',
    reply = 'r',
  },
}

--- The types of what has no default, or of which there are several.
local types = { server = { 'string' } }

---@param known table
---@param given any
---@param path string
---@param wrong string[]
local function check(known, given, path, wrong)
  for key, value in pairs(given) do
    local field = path .. '.' .. tostring(key)
    local default = known[key]
    local allowed = types[key] or { type(default) }
    if path:find('keys$') then
      allowed = { 'string', 'boolean' }
    end
    if default == nil and not types[key] then
      local names = vim.tbl_keys(vim.tbl_extend('keep', known, path == 'vim.g.aside' and types or {}))
      table.sort(names)
      wrong[#wrong + 1] = ('%s: there is no such field; there are %s'):format(field, table.concat(names, ', '))
    elseif
      not vim.tbl_contains(allowed, type(value)) or value == true and default ~= nil and type(default) ~= 'boolean'
    then
      wrong[#wrong + 1] = ('%s: expected %s, got %s'):format(
        field,
        path:find('keys$') and 'a string or false' or allowed[1],
        vim.inspect(value)
      )
    elseif key == 'keys' then
      check(default, value, field, wrong)
    end
  end
end

--- The configuration as it is now, and what is wrong with it: a sentence that names the field, for each.
---@return aside.Config config the defaults, where anything is wrong
---@return string[] wrong
function M.read()
  local given, wrong = vim.g.aside, {}
  if type(given) == 'function' then
    local ok, made = pcall(given)
    given = made
    if not ok then
      return M.defaults, { 'vim.g.aside: the function failed: ' .. tostring(made) }
    end
  end
  if given ~= nil and type(given) ~= 'table' then
    return M.defaults, { 'vim.g.aside: expected a table or a function that returns one, got ' .. type(given) }
  end
  check(M.defaults, given or {}, 'vim.g.aside', wrong)
  if #wrong > 0 then
    return M.defaults, wrong
  end
  return vim.tbl_deep_extend('force', M.defaults, given or {}), {}
end

local said = false

---@return aside.Config
function M.get()
  local config, wrong = M.read()
  if #wrong > 0 and not said then
    said = true
    require('aside.log').fail(wrong[1])
  end
  return config
end

return M

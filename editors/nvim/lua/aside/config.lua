--- The user's configuration: `vim.g.aside`, a table or a function that returns one. Everything is optional.

---@class aside.Config
---@field server? string The program. Empty: the one on PATH, else the one where cargo or `:Aside install` puts it.
---@field release? string Where a release can be had, as `https://…/v0.1.0`: fetched after a question, where there is no program.
---@field settings? table What `aside.toml` may say, as yours: { assistant = { model = 'anthropic/…' } }.
---@field root_markers? string[] What a project's folder has in it.
---@field notify? boolean Whether a line below says that something waits.
---@field sign? string What stands in the sign column where something waits, at most two cells wide.
---@field width? integer The most columns of an answer beside the code.
---@field height? integer The most lines of an answer beside the code; it takes two fifths of the rows at the most.
---@field pane? string Where the pane of a conversation opens: right, left, below or float.
---@field keys? aside.Keys

--- Keys of Aside's own windows, and of a file while the person looks at a change of it. `false` leaves one out.
---@class aside.Keys
---@field accept? string|false Take the change under the cursor.
---@field reject? string|false Leave it out.
---@field accept_all? string|false Take all changes that are not decided.
---@field accept_turn? string|false The same, and all later edits of the turn.
---@field reject_all? string|false Refuse the whole; a note may say why.
---@field edit? string|false Edit what is proposed, before it is decided.
---@field next? string|false Go to the next change.
---@field previous? string|false Go to the change before.
---@field choose? string|false Answer, where a question is too long to stand above its answers.
---@field hide? string|false Close the window. What waits goes on waiting.
---@field pin? string|false Show an answer in the pane.
---@field reply? string|false Say more in an answer's conversation, in the pane.
---@field send? string|false Send the message of a pane.
---@field send_typing? string|false The same, in insert mode.
---@field older? string|false In the first line of a message, go to the one before.
---@field newer? string|false In the last line of a message, go to the next one.
---@field complete? string|false Complete a word of a message, in insert mode.

local M = {}

---@type aside.Config
M.defaults = {
  server = '',
  release = '',
  settings = {},
  root_markers = { 'aside.toml', '.git' },
  notify = true,
  sign = '?',
  width = 80,
  height = 24,
  pane = 'right',
  keys = {
    accept = 'gy',
    reject = 'gn',
    accept_all = 'gY',
    accept_turn = 'g!',
    reject_all = 'gN',
    edit = 'ge',
    next = ']h',
    previous = '[h',
    choose = '<CR>',
    hide = 'q',
    pin = 'P',
    reply = 'r',
    send = '<CR>',
    send_typing = '<C-s>',
    older = '<Up>',
    newer = '<Down>',
    complete = '<Tab>',
  },
}

--- The names of what a table has, in their order.
---@param all table<string, any>
---@return string
function M.names(all)
  return vim.iter(vim.spairs(all)):map(function(name) return name end):join(', ')
end

--- Mistakes in a configuration, one sentence each.
---@return string[]
local function check(defaults, given, path)
  local wrong, is_key = {}, defaults == M.defaults.keys
  for name, value in vim.spairs(given) do
    local field, default = ('%s.%s'):format(path, name), defaults[name]
    if default == nil then
      wrong[#wrong + 1] = ('%s: there is no such field; there are %s'):format(field, M.names(defaults))
    elseif type(value) ~= type(default) and not (is_key and value == false) then
      local expected = is_key and 'a string or false' or type(default)
      wrong[#wrong + 1] = ('%s: expected %s, got %s'):format(field, expected, vim.inspect(value))
    elseif name == 'keys' then
      vim.list_extend(wrong, check(default, value, field))
    elseif name == 'pane' and not vim.tbl_contains({ 'right', 'left', 'below', 'float' }, value) then
      wrong[#wrong + 1] = ('%s: expected right, left, below or float, got %s'):format(field, vim.inspect(value))
    elseif name == 'sign' and vim.fn.strdisplaywidth(value) > 2 then
      wrong[#wrong + 1] = ('%s: expected at most two cells, got %s'):format(field, vim.inspect(value))
    elseif name == 'root_markers' and vim.iter(value):any(function(marker) return type(marker) ~= 'string' end) then
      wrong[#wrong + 1] = field .. ': expected names of files'
    end
  end
  return wrong
end

--- The configuration as it is now, and what is wrong with it: a sentence that names the field, for each.
---@return aside.Config config the defaults, where anything is wrong
---@return string[] wrong
function M.read()
  local ok, given = true, vim.g.aside or {}
  if type(given) == 'function' then
    ok, given = pcall(given)
  end
  local wrong = not ok and { 'vim.g.aside: the function failed: ' .. tostring(given) }
    or type(given) ~= 'table' and { 'vim.g.aside: expected a table or a function that returns one, got ' .. type(given) }
    or check(M.defaults, given, 'vim.g.aside')
  return #wrong == 0 and vim.tbl_deep_extend('force', M.defaults, given) or M.defaults, wrong
end

local said = false

---@return aside.Config
function M.get()
  local config, wrong = M.read()
  if wrong[1] and not said then
    said = true
    require('aside.log').fail(wrong[1])
  end
  return config
end

--- Maps a key of a buffer, unless the person left it out.
---@param name string of `aside.Keys`
---@param mode? string normal mode without it
function M.map(name, buf, act, mode)
  local key = M.get().keys[name]
  if key then vim.keymap.set(mode or 'n', key, act, { buffer = buf, nowait = true, desc = 'Aside: ' .. name }) end
end

--- The key that sends what is written, in the mode that the person is in.
---@return string[] of a hint
function M.sends()
  local typing = vim.startswith(vim.api.nvim_get_mode().mode, 'i')
  return { typing and 'send_typing' or 'send', 'sends' }
end

--- Keys and what they do, in a line.
---@param keys string[][] a name of `aside.Keys` and a word for it, each
---@return string
function M.hint(keys)
  local parts = {}
  for _, each in ipairs(keys) do
    local key = M.get().keys[each[1]]
    parts[#parts + 1] = key and ('%s %s'):format(key, each[2]) or nil
  end
  return table.concat(parts, ' · ')
end

return M

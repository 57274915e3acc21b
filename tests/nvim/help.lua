--- Writes the help of the plugin, from what its files say: nvim --clean -l tests/nvim/help.lua > editors/nvim/doc/aside.txt
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local plugin = vim.fs.dirname(vim.fs.dirname(here)) .. '/editors/nvim'
vim.opt.runtimepath:prepend(plugin)

local out = {}
local function put(text) vim.list_extend(out, vim.split(text, '\n')) end

--- Breaks a text into lines of 78 columns.
local function wrapped(text, indent)
  local lines, line = {}, indent
  for word in text:gmatch('%S+') do
    if #line + #word > 77 and line ~= indent then
      lines[#lines + 1] = line
      line = indent
    end
    line = line .. (line == indent and '' or ' ') .. word
  end
  lines[#lines + 1] = line
  return table.concat(lines, '\n')
end

local function heading(title, tag)
  put(('='):rep(78))
  put(title .. (' '):rep(math.max(1, 78 - #title - #tag - 2)) .. '*' .. tag .. '*')
  put('')
end

local function source(name) return table.concat(vim.fn.readfile(plugin .. '/' .. name), '\n') end

put('*aside.txt*  An assistant for the editor that asks good questions')
put('')
put(
  wrapped(
    "Aside in Neovim 0.10 and later. The server `aside` does the work; this plugin shows it. It works without configuration, and does nothing before `:Aside` is used. `vim.lsp.enable('aside')` starts it with the first file instead.",
    ''
  )
)
put('')

heading('COMMAND', ':Aside')
local subcommands = require('aside.command').subcommands
for name, subcommand in vim.spairs(subcommands) do
  put((':Aside %s'):format(name))
  put(wrapped(subcommand.what, '    '))
end
put('')
put(wrapped('`:Aside` alone goes to the answer. Only `ask`, `fix`, `pane` and `rewrite` take a range.', ''))
put('')

heading('MAPS', 'aside-maps')
put(wrapped('No key is mapped. These can be:', ''))
put('')
for name, modes in
  vim.spairs((function()
    local maps = {}
    vim.cmd('runtime plugin/aside.lua')
    for _, mode in ipairs({ 'n', 'x' }) do
      for _, map in ipairs(vim.api.nvim_get_keymap(mode)) do
        local plug = map.lhs:match('^<Plug>%(aside%-.*%)$')
        if plug then maps[plug] = (maps[plug] or '') .. mode end
      end
    end
    return maps
  end)())
do
  put(('    %-24s%s'):format(name, table.concat(vim.split(modes, ''), ', ')))
end
put('')

heading('CONFIGURATION', 'vim.g.aside')
local config = source('lua/aside/config.lua')
local defaults = require('aside.config').defaults
put(wrapped(config:match('^%-%-%- ([^\n]*)'), ''))
put('')
local class, values
for line in config:gmatch('[^\n]+') do
  local name = line:match('^%-%-%-@class (%S+)')
  if name then
    class, values = name, name == 'aside.Keys' and defaults.keys or defaults
    put(name .. (' '):rep(76 - 2 * #name) .. '*' .. name .. '*')
  end
  local field, kind, about = line:match('^%-%-%-@field ([%w_]+)%?? (%S+) ?(.*)$')
  if field and class then
    local default = values[field]
    local value = field ~= 'keys' and default ~= nil and vim.inspect(default, { newline = ' ', indent = '' }) or nil
    put(('    %s  %s%s'):format(field, kind, value and ', default ' .. value or ''))
    if about ~= '' then put(wrapped(about, '        ')) end
  end
end
put('')

heading('FUNCTIONS', 'aside-functions')
local said = {}
for line in source('lua/aside/init.lua'):gmatch('[^\n]+') do
  local text, name = line:match('^%-%-%- ([^@].*)'), line:match('^function M%.(.*)$')
  if text then
    said[#said + 1] = text
  elseif name then
    put(("require('aside').%s"):format(name))
    put(wrapped(table.concat(said, ' '), '    '))
    said = {}
  elseif not vim.startswith(line, '---@') then
    said = {}
  end
end
put('')

heading('EVENTS', 'aside-events')
put(wrapped('Of the kind |User|, each with `data`.', ''))
put('')
for name, text in
  vim.spairs({
    AsideStatus = 'what `aside/status` says: health, busy, model, pendingPrompts',
    AsidePrompt = 'something waits for an answer: promptId, kind, label',
    AsidePromptClosed = 'it waits no more: promptId',
    AsideTurnStarted = 'turnId, conversationId',
    AsideTurnEnded = 'turnId, conversationId, outcome',
  })
do
  put(('    %-20s%s'):format(name, text))
end
put('')

heading('COLOURS', 'aside-colours')
for name, link in vim.spairs(require('aside.client').colours) do
  put(('    %-20slinks to %s'):format(name, link))
end
put('')
put('vim:tw=78:ft=help:norl:')
io.stdout:write(table.concat(out, '\n'), '\n')

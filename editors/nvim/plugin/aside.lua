-- The command and the maps. Everything else is loaded when one of them is used.
if vim.g.loaded_aside then return end
vim.g.loaded_aside = true

vim.api.nvim_create_user_command('Aside', function(command) require('aside.command').run(command) end, {
  nargs = '*',
  range = true,
  bang = true,
  desc = 'Aside, an assistant',
  complete = function(lead, line) return require('aside.command').complete(lead, line) end,
})

--- Sets a map by the name of the command that it runs. `vim.keymap` would be loaded for it, at half the cost of starting.
---@param mode string
---@param name string
---@param keys string
local function map(mode, name, keys)
  vim.api.nvim_set_keymap(mode, '<Plug>(aside-' .. name .. ')', keys, { noremap = true, silent = true })
end

for _, name in ipairs({ 'ask', 'fix', 'pane', 'rewrite' }) do
  map('n', name, '<Cmd>Aside ' .. name .. '<CR>')
  map('x', name, ':Aside ' .. name .. '<CR>')
end
for _, name in ipairs({ 'answer', 'review', 'show', 'hide', 'steer', 'cancel', 'undo' }) do
  map('n', name, '<Cmd>Aside ' .. name .. '<CR>')
end

-- It comes once for each buffer.
vim.api.nvim_create_autocmd('SessionLoadPost', {
  group = vim.api.nvim_create_augroup('aside.session', {}),
  callback = function(event)
    if vim.startswith(event.match, 'aside://') then vim.schedule(function() require('aside.pane').restore() end) end
  end,
})

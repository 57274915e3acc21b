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

for _, name in ipairs({ 'ask', 'fix', 'pane', 'rewrite' }) do
  vim.keymap.set('n', '<Plug>(aside-' .. name .. ')', '<Cmd>Aside ' .. name .. '<CR>')
  vim.keymap.set('x', '<Plug>(aside-' .. name .. ')', ':Aside ' .. name .. '<CR>', { silent = true })
end
for _, name in ipairs({ 'answer', 'review', 'show', 'hide', 'steer', 'cancel', 'undo' }) do
  vim.keymap.set('n', '<Plug>(aside-' .. name .. ')', '<Cmd>Aside ' .. name .. '<CR>')
end

-- It comes once for each buffer.
vim.api.nvim_create_autocmd('SessionLoadPost', {
  group = vim.api.nvim_create_augroup('aside.session', {}),
  callback = function(event)
    if vim.startswith(event.match, 'aside://') then vim.schedule(function() require('aside.pane').restore() end) end
  end,
})

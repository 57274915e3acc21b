-- For those who write `vim.lsp.enable('aside')`; `:Aside` starts the same client when it is needed.
return require('aside.client').config()

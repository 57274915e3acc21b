std = 'luajit'
read_globals = { 'vim' }
globals = { 'vim.g', 'vim.bo', 'vim.wo', 'vim.v', 'vim.ui', 'vim.b', 'vim.env', 'vim.o', 'vim.opt' }
max_line_length = 120

-- Shows messages as noice.nvim does: Neovim gives them to a function, and draws none. Nobody answers where it waits for
-- Enter.
local namespace = vim.api.nvim_create_namespace('external')
local lines, buf, win = {}, nil, nil

local function show()
  buf = buf or vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  local place =
    { relative = 'editor', anchor = 'SE', row = vim.o.lines - 1, col = vim.o.columns, width = 52, height = 5 }
  local options = { style = 'minimal', border = 'single', title = ' messages ', focusable = false, zindex = 200 }
  win = win or vim.api.nvim_open_win(buf, false, vim.tbl_extend('error', place, options))
  vim.wo[win].wrap = true
end

vim.ui_attach(namespace, { ext_messages = true }, function(event, kind, content)
  if event ~= 'msg_show' then return end
  local text = {}
  for _, chunk in ipairs(content) do
    text[#text + 1] = chunk[2]
  end
  local whole = kind == 'return_prompt' and 'IT WAITS FOR ENTER' or table.concat(text)
  if vim.trim(whole) == '' then return end
  vim.schedule(function()
    lines[#lines + 1] = whole
    show()
  end)
end)

-- The Neovim into which keys are typed. PLUGIN is the plugin's folder, or none.
vim.o.swapfile = false
-- A map that has begun waits for its next key, however long that takes: time decides nothing.
vim.o.timeout = false
vim.o.ttimeoutlen = 5
local escape, last = vim.keycode('<Esc>'), vim.keycode('<F12>')
local answers = 0

--- Tells the typist which keys were read, and which prompts arrived.
function Begin(typist, number, prompts, server)
  local function tell(field)
    vim.rpcnotify(typist, 'nvim_exec_lua', ('local c = Children[%d]; %s'):format(number, field), {})
  end
  vim.on_key(function(_, typed)
    -- Escape may come with keys before it that could have begun a map, or be Alt with the key after it.
    if typed:find(escape, 1, true) or typed:find('\128\252', 1, true) then
      tell('c.escapes = c.escapes + 1')
    elseif typed:find(last, 1, true) then
      tell('c.typed = true')
    end
  end)
  if prompts == 0 then
    return
  end
  vim.g.aside = { server = server }
  vim.o.statusline = "%f %{v:lua.require'aside'.status()}"
  vim.api.nvim_create_autocmd('User', {
    pattern = 'AsidePrompt',
    callback = function()
      tell('c.arrived = c.arrived + 1')
    end,
  })
  vim.api.nvim_create_autocmd('User', {
    pattern = 'AsidePromptClosed',
    callback = function()
      answers = answers + 1
    end,
  })
  for turn = 1, prompts do
    require('aside').ask('turn ' .. turn, { new = true })
  end
end

function Open()
  return #require('aside.prompt').open()
end

--- What the person would see of it.
function State()
  local buffers, registers = {}, {}
  for _, info in ipairs(vim.fn.getbufinfo()) do
    if vim.bo[info.bufnr].filetype ~= 'aside' and info.name ~= '' and vim.bo[info.bufnr].buflisted then
      buffers[vim.fs.basename(info.name)] = vim.api.nvim_buf_get_lines(info.bufnr, 0, -1, false)
    end
  end
  for name in ('abcdefghijklmnopqrstuvwxyz0123456789"-./:'):gmatch('.') do
    registers[name] = vim.fn.getreg(name)
  end
  local windows = vim.tbl_filter(function(win)
    return vim.api.nvim_win_get_config(win).relative == ''
  end, vim.api.nvim_list_wins())
  return {
    expected = vim.env.PLUGIN ~= 'none',
    answers = answers,
    buffers = buffers,
    registers = registers,
    cursor = vim.api.nvim_win_get_cursor(0),
    windows = #windows,
  }
end

if vim.env.PLUGIN ~= 'none' then
  vim.opt.runtimepath:prepend(vim.env.PLUGIN)
end

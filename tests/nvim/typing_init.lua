-- The Neovim into which keys are typed. PLUGIN is the plugin's folder, or none.
vim.o.swapfile = false
-- A map that has begun waits for its next key, however long that takes: time decides nothing.
vim.o.timeout = false
vim.o.ttimeoutlen = 5
-- Nor does it here: where no further key has come yet, a match is shown while it is typed, which changes the column that
-- `j` and `k` go to, and the cursor stands behind the match meanwhile.
vim.o.incsearch = false
-- Nobody is told which keys a listing reads that stops at each page.
vim.o.more = false
-- A sign takes columns of the text, and `gm` goes to the middle of those that are left.
vim.o.signcolumn = 'yes'
-- In a list of files keys delete those, and start programs.
vim.g.loaded_netrw, vim.g.loaded_netrwPlugin = 1, 1
-- The first page of the help names what plugins add to it.
vim.o.helpfile = 'none'
-- Asks the language servers of the buffer, and says so much where they know nothing that Enter has to be typed.
pcall(vim.keymap.del, 'n', 'gO')
-- `:cc` goes to what the quickfix list has. Into a list of the person's own, Aside puts nothing.
vim.fn.setqflist({ { filename = 'a.txt', lnum = 2, text = 'mine' } })
local told = {
  escape = vim.keycode('<Esc>'),
  last = vim.keycode('<F12>'),
  enter = vim.keycode('<CR>'),
  stop = vim.keycode('<C-c>'),
  take = 'gy',
}
local answers = 0
local keys = {} ---@type string[] as they were read, each with where that was

--- Where the cursor is in normal mode, and what the text is. In others Neovim reads some keys before it shows the first.
local function where()
  if vim.fn.mode(1) ~= 'n' then return '' end
  local at, text = vim.fn.getcurpos(), table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\n')
  -- Vim's functions take a text with a NUL for a blob, and the one that makes digests fails with that.
  text = text:gsub('%z', '\n')
  return (' at %d:%d (%d) of %s'):format(at[2], at[3], at[5], vim.fn.sha256(text):sub(1, 6))
end

--- Tells the typist which keys were read, and which prompts arrived.
function Begin(typist, number, prompts, server)
  local function tell(field)
    vim.rpcnotify(typist, 'nvim_exec_lua', ('local c = Children[%d]; %s'):format(number, field), {})
  end
  vim.on_key(function(_, typed)
    if typed ~= '' then keys[#keys + 1] = vim.fn.keytrans(typed) .. where() end
    for name, key in pairs(told) do
      -- Escape may come with keys before it that could have begun a map, or be Alt with the key after it.
      if typed:find(key, 1, true) or name == 'escape' and typed:find('\128\252', 1, true) then
        tell(('c.read.%s = (c.read.%s or 0) + 1'):format(name, name))
      end
    end
  end)
  if prompts == 0 then return end
  vim.g.aside = { server = server }
  vim.o.statusline = "%f %{v:lua.require'aside'.status()}"
  vim.api.nvim_create_autocmd('User', {
    pattern = 'AsidePrompt',
    callback = function() tell('c.arrived = c.arrived + 1') end,
  })
  vim.api.nvim_create_autocmd('User', {
    pattern = 'AsidePromptClosed',
    callback = function() answers = answers + 1 end,
  })
  for turn = 1, prompts do
    require('aside').ask('turn ' .. turn, { new = true })
  end
end

--- Whether the person turned to the change.
function Turned()
  local _, review = next(require('aside.review').reviews)
  return review ~= nil and review.release ~= nil
end

--- Whether a key would take it.
function Live()
  local _, review = next(require('aside.review').reviews)
  review.shown:look()
  return review.shown:may_decide(1)
end

--- Whether the server was told of a decision.
function Decided() return Open() < 5 end

function Closed() return answers end

function Open() return #require('aside.prompt').open() end

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
  local windows = vim.tbl_filter(
    function(win) return vim.api.nvim_win_get_config(win).relative == '' end,
    vim.api.nvim_list_wins()
  )
  return {
    expected = vim.env.PLUGIN ~= 'none',
    answers = answers,
    keys = keys,
    buffers = buffers,
    registers = registers,
    cursor = vim.api.nvim_win_get_cursor(0),
    windows = #windows,
  }
end

if vim.env.PLUGIN ~= 'none' then vim.opt.runtimepath:prepend(vim.env.PLUGIN) end

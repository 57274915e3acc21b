-- The Neovim in which random changes are shown. PLUGIN is the plugin's folder. No server runs: what would go there is kept.
vim.opt.runtimepath:prepend(vim.env.PLUGIN)
vim.o.title, vim.o.statusline, vim.o.listchars = true, '%f', 'tab:  '
vim.o.swapfile, vim.o.more, vim.o.shortmess = false, false, 'filnxtToOFcTIA'
Tick, Clock, Sent = 0, 0, {}
local client = require('aside.client')
local shown = require('aside.shown')
client.ready = function(act) act() end
client.request = function(method, params) Sent[#Sent + 1] = { method = method, params = params } end
shown.now = function() return Clock end

local function of_prompt() return require('aside.prompt').open()[1] end

--- Shows what was changed without asking, and turns to it.
---@param case table
local function review(case)
  local changes = require('aside.changes')
  changes.record(vim.uri_from_fname(case.file), case.old, case.new)
  vim.cmd('silent Aside review')
end

--- Shows a change, and turns to it.
---@param case table
function Begin(case)
  require('aside.prompt').abandon()
  require('aside.changes').stop()
  for _, file in ipairs(require('aside.changes').open()) do
    require('aside.changes').forget({ file.uri })
  end
  vim.cmd('silent! tabonly! | silent! only! | silent! %bwipeout!')
  Sent = {}
  vim.fn.writefile(vim.split(case.made and case.new or case.old, '\n'), case.file, 'b')
  if case.options.open then vim.cmd('silent edit ' .. case.file) end
  if case.options.split then vim.cmd(case.options.split) end
  for name, value in pairs(case.options.window) do
    pcall(vim.api.nvim_set_option_value, name, value, {})
  end
  vim.cmd('silent! normal! ' .. case.options.start)
  if case.made then return review(case) end
  local prompt = {
    promptId = case.file,
    conversationId = 'c',
    kind = 'runTool',
    label = 'edit_file',
    text = 'Edit it',
    position = { n = 1, of = 1 },
    answerType = { type = 'select', options = { 'once', 'turn', 'no' } },
    tool = { name = 'edit_file' },
    preview = { kind = 'diff', uri = vim.uri_from_fname(case.file), old = case.old, new = case.new },
  }
  coroutine.wrap(function() require('aside.prompt').arrive(prompt) end)()
  vim.wait(1000, function() return of_prompt() ~= nil end, 1)
  vim.cmd('silent Aside answer')
end

--- Presses keys, and draws.
function Move(keys)
  local ok = pcall(vim.api.nvim_feedkeys, vim.keycode(keys), 'xt', false)
  if not ok then vim.cmd('stopinsert') end
end

--- Draws, and says so on the screen.
function Draw()
  Tick = Tick + 1
  vim.cmd('redraw!')
  vim.o.titlestring = 'tick' .. Tick
  vim.cmd.redraw()
  return Tick
end

--- A second passes, in which nothing is drawn.
function Pass() Clock = Clock + 1000 end

--- What is decided about, and where it is shown.
---@return aside.Shown?
local function shown_now()
  local look, prompt = require('aside.changes').look, of_prompt()
  if look then return look.shown end
  local one = prompt and require('aside.review').reviews[prompt.promptId]
  return one and one.release and one.shown or nil
end

--- Which hunks can be decided now, in the window of the cursor, and where that is.
function Live()
  local it = shown_now()
  local answer = { at = { require('aside.rows').corner(0) }, live = {}, all = false, gutter = 0 }
  answer.width, answer.height = vim.api.nvim_win_get_width(0), vim.api.nvim_win_get_height(0)
  if not it or vim.api.nvim_get_current_buf() ~= it.buf then return answer end
  vim.cmd.redraw()
  it:look()
  answer.page, answer.made, answer.inverted = not it.inline, it.made, it.inverted
  answer.gutter = it.inverted and vim.fn.getwininfo(vim.api.nvim_get_current_win())[1].textoff or 0
  for at in ipairs(it.hunks) do
    answer.live[at] = it:may_decide(at)
  end
  answer.open = vim.tbl_map(function(hunk) return hunk.take == nil end, it.hunks)
  answer.all = it:unread(true) == nil
  -- What was made would be taken back by its hunks.
  answer.added = vim.tbl_map(function(hunk) return it.made and hunk.removed or hunk.added end, it.hunks)
  answer.gone = vim.tbl_map(function(hunk) return it.inverted and hunk.added or {} end, it.hunks)
  answer.long = vim.tbl_map(function(at) return it:is_long(at) end, vim.tbl_keys(it.hunks))
  return answer
end

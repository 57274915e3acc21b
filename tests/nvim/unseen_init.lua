-- The Neovim in which random changes are shown. PLUGIN is the plugin's folder. No server runs: what would go there is kept.
vim.opt.runtimepath:prepend(vim.env.PLUGIN)
vim.o.title, vim.o.statusline = true, '%f'
vim.o.swapfile, vim.o.more, vim.o.shortmess = false, false, 'filnxtToOFcTIA'
Tick, Clock, Sent = 0, 0, {}
local client = require('aside.client')
local shown = require('aside.shown')
client.ready = function(act) act() end
client.request = function(method, params) Sent[#Sent + 1] = { method = method, params = params } end
shown.now = function() return Clock end

local function of_prompt() return require('aside.prompt').open()[1] end

--- Shows a change, and turns to it.
---@param case table
function Begin(case)
  require('aside.prompt').abandon()
  vim.cmd('silent! tabonly! | silent! only! | silent! %bwipeout!')
  Sent = {}
  vim.fn.writefile(vim.split(case.old, '\n'), case.file, 'b')
  if case.options.open then vim.cmd('silent edit ' .. case.file) end
  if case.options.split then vim.cmd(case.options.split) end
  for name, value in pairs(case.options.window) do
    pcall(vim.api.nvim_set_option_value, name, value, {})
  end
  vim.cmd('silent! normal! ' .. case.options.start)
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

--- Which hunks can be decided now, in the window of the cursor, and where that is.
function Live()
  local review = require('aside.review').reviews[of_prompt().promptId]
  local answer = { at = { require('aside.rows').corner(0) }, live = {}, all = false }
  answer.width, answer.height = vim.api.nvim_win_get_width(0), vim.api.nvim_win_get_height(0)
  answer.file = vim.api.nvim_get_current_buf()
  if not review or not review.shown or not review.release then return answer end
  if vim.api.nvim_get_current_buf() ~= review.shown.buf then return answer end
  vim.cmd.redraw()
  review.shown:look()
  answer.page, answer.keys = not review.shown.inline, vim.fn.maparg('gy', 'n') ~= ''
  for at in ipairs(review.hunks) do
    answer.live[at] = review.shown:may_decide(at)
  end
  answer.open = vim.tbl_map(function(hunk) return hunk.take == nil end, review.hunks)
  answer.here, answer.all = review.shown:here(), review:unread(true) == nil
  answer.added = vim.tbl_map(function(hunk) return hunk.added end, review.hunks)
  answer.long = vim.tbl_map(function(at) return review.shown:is_long(at) end, vim.tbl_keys(review.hunks))
  return answer
end

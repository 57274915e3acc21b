--- `:Aside`, one command with subcommands.
local attachments = require('aside.attachments')
local client = require('aside.client')
local config = require('aside.config')
local log = require('aside.log')

local M = {}

--- Gets a text: the one given, else the one that is typed.
local function text_of(given, prompt, act)
  if given then return act(given) end
  local completion = "customlist,v:lua.require'aside.command'.complete_input"
  vim.ui.input({ prompt = prompt, completion = completion }, function(text)
    if text and vim.trim(text) ~= '' then act(text) end
  end)
end

--- The lines that a command is about: those that it was given, else that of the cursor in the code, also where the
--- person is in an answer.
---@return integer buf
---@return integer first
---@return integer last
---@return boolean given
local function lines_of(command)
  if command.range > 0 then return vim.api.nvim_get_current_buf(), command.line1, command.line2, true end
  local buf, line = client.code()
  return buf, line, line, false
end

--- Asks about lines, or about nothing in particular beside them.
---@param given boolean whether the lines go along
---@param also? table[] more attachments
---@param buf integer
---@param first integer
---@param last integer
local function ask(message, new, also, buf, first, last, given)
  local all = given and { attachments.range(buf, first, last) } or {}
  local named, missing = attachments.named(message, buf)
  vim.list_extend(vim.list_extend(all, also or {}), named)
  local anchor ---@type aside.Anchor?
  if vim.bo[buf].buftype == '' then anchor = { buf = buf, row = first - 1, last = last - 1 } end
  require('aside.turn').ask({
    message = message,
    attachments = #all > 0 and all or nil,
    missing = missing,
    anchor = anchor,
    new = new,
  })
end

--- A function of another module, loaded when it is called.
local function of(module, name)
  return function(text) require('aside.' .. module)[name](text) end
end

---@class aside.Subcommand
---@field what string what it does, for the help
---@field run fun(text: string?, command: table)
---@field complete? fun(lead: string): string[]

---@type table<string, aside.Subcommand>
M.subcommands = {
  ask = {
    what = 'Asks; with a range, about these lines. With an answer on the screen it steers its turn, or goes on with its '
      .. 'conversation, unless there is a `!`. `@path`, `@path:3-7`, `@buffers`, `@diagnostics`, `@diff`, `@quickfix`, `@selection` and '
      .. '`@terminal` go along.',
    run = function(text, command)
      local buf, first, last, given = lines_of(command)
      text_of(text, 'Ask: ', function(message) ask(message, command.bang, nil, buf, first, last, given) end)
    end,
    complete = attachments.complete,
  },
  fix = {
    what = 'Asks to fix what the diagnostics of these lines say, or those of the current line. A text says more.',
    run = function(text, command)
      local buf, first, last = lines_of(command)
      local also = attachments.diagnostics(buf, first, last)
      if #also == 0 and not text then return log.say('there are no diagnostics here; say what to fix', 'WarningMsg') end
      ask(vim.trim('Fix these diagnostics. ' .. (text or '')), command.bang, also, buf, first, last, true)
    end,
  },
  rewrite = {
    what = 'Rewrites the lines as a text says, at once and as one undo. With a range, `:Aside! shorten this` does the same, '
      .. 'where the text does not begin with the name of a command.',
    run = function(text, command)
      local buf, first, last = lines_of(command)
      if not vim.bo[buf].modifiable then return log.fail('nothing can be rewritten here') end
      text_of(text, 'Rewrite: ', function(wish) require('aside.rewrite').run(buf, first, last, wish) end)
    end,
  },
  review = {
    what = 'Goes to what Aside changed in files without asking; each part can be kept or taken back. A new file that is taken '
      .. 'back is removed.',
    run = function() require('aside.changes').review() end,
  },
  steer = {
    what = 'Says more to the turn on the screen, or to one that is picked.',
    run = function(text) text_of(text, 'Steer: ', require('aside.turn').steer) end,
  },
  cancel = {
    what = 'Cancels the turn on the screen, else the only one that runs, or one that is picked.',
    run = of('turn', 'cancel'),
  },
  compact = {
    what = 'Summarises the conversation on the screen, or one that is picked, so that it goes on with fewer tokens. A text '
      .. 'says what the summary has to keep; `undo` takes the last summary back.',
    run = of('pick', 'compact'),
  },
  ledger = {
    what = 'Shows the ledger of the conversation on the screen, or of one that is picked: what you said, answered, allowed '
      .. 'and refused, and the files that changed. It is printed from the log, and no summary changes it.',
    run = of('pick', 'ledger'),
  },
  undo = {
    what = 'Puts back what the last turn of the answer on the screen changed in files, all or nothing.',
    run = of('turn', 'undo'),
  },
  resume = {
    what = 'Picks a turn that was interrupted, by its age, and goes on with it.',
    run = function() require('aside.turn').resume() end,
  },
  pane = {
    what = 'Opens the pane of a conversation, with a message to write, or closes it. With a range, its lines go along; with '
      .. 'a `!` it is a new conversation.',
    run = function(_, command)
      local buf, first, last, given = lines_of(command)
      local words = given and attachments.word_of(buf, first, last) or nil
      if given and not words then return log.fail('the lines are of no file; :Aside ask takes them along') end
      require('aside.pane').toggle({ new = command.bang, words = words })
    end,
  },
  drop = { what = 'Picks a turn that was interrupted, or all of them, and ends it for good.', run = of('turn', 'drop') },
  hide = { what = 'Closes the windows of answers. What runs goes on.', run = of('turn', 'hide') },
  show = {
    what = 'Goes to the answer; in it, hides it. With a `!`, lists the answers of this Neovim, and how each is.',
    run = function(_, command) require('aside.turn')[command.bang and 'pick' or 'show']() end,
  },
  answer = {
    what = 'Shows what waits for an answer, first what is asked in this text, or with a `!` a list of it. In a list a number '
      .. 'goes to its line, and Enter takes it. The next change follows by itself, whatever else waits does not. Hiding it '
      .. 'leaves it open.',
    run = function(_, command) require('aside.prompt')[command.bang and 'pick' or 'answer']() end,
  },
  conversations = {
    what = 'Picks a conversation, and opens it in the pane. A text filters by title.',
    run = of('pick', 'conversations'),
  },
  fork = {
    what = 'Begins another conversation with the turns of that on the screen, or of one that is picked.',
    run = of('pick', 'fork'),
  },
  rename = { what = 'Gives the conversation on the screen a title, or one that is picked.', run = of('pick', 'rename') },
  delete = {
    what = 'Deletes the conversation on the screen for good, or one that is picked.',
    run = of('pick', 'delete'),
  },
  model = {
    what = 'Chooses the model of the next turns. Another one than those of the list may be named.',
    run = of('pick', 'model'),
    complete = function() return require('aside.pick').models end,
  },
  mode = {
    what = 'Chooses the mode of the next turns: ask, edits, plan or auto.',
    run = of('pick', 'mode'),
    complete = function() return require('aside.pick').modes end,
  },
  trust = {
    what = 'Shows what trust in this folder means, and asks for it or takes it back.',
    run = of('pick', 'trust'),
  },
  install = {
    what = 'Fetches the program of a release after a question, and holds it against the checksums there. A text is the '
      .. 'address of the release, or a folder with its files; without one it is that of `vim.g.aside.release`.',
    run = of('install', 'run'),
  },
  log = { what = 'Opens the log.', run = of('log', 'open') },
  stop = {
    what = 'Stops the server; the next `:Aside ask` starts it.',
    run = function()
      log.say(client.alive() and 'the server was stopped; :Aside ask starts it' or 'the server does not run')
      client.stop()
    end,
  },
}

---@param command table what `nvim_create_user_command` gives
function M.run(command)
  -- In a list it is typed about what lies below, and the list is left for it.
  if vim.w.aside_list then vim.cmd.close() end
  local name, text = command.args:match('^%s*(%S*)%s*(.*)$')
  local subcommand = M.subcommands[name == '' and 'show' or name]
  if not subcommand and command.bang and command.range > 0 then
    subcommand, text = M.subcommands.rewrite, command.args
  end
  if subcommand then return subcommand.run(text ~= '' and text or nil, command) end
  if command.bang then return log.fail('a text after :Aside! rewrites a range', ' — :Aside rewrite') end
  if text ~= '' then
    return log.fail(('there is no :Aside %s'):format(name), (' — :Aside ask %s …'):format(name))
  end
  log.fail(('there is no :Aside %s; there are %s'):format(name, config.names(M.subcommands)))
end

--- Whether a message may be this command: `/` and the name.
---@param name string
function M.slash(name) return not vim.tbl_contains({ 'ask', 'fix', 'rewrite' }, name) and M.subcommands[name] ~= nil end

--- The commands that a message may be.
---@return aside.Word[]
function M.slashes()
  local all = {}
  for name, subcommand in vim.spairs(M.subcommands) do
    if M.slash(name) then all[#all + 1] = { word = '/' .. name, what = subcommand.what:match('^[^.,;]*') } end
  end
  return all
end

local function beginning(start, words)
  local found = vim.tbl_filter(function(word) return vim.startswith(word, start) end, words)
  table.sort(found)
  return found
end

--- Completes the command line.
function M.complete(lead, line)
  local name, rest = line:match('^.-Aside!?%s+(%S+)(.*)$')
  if not name or rest == '' then return beginning(lead, vim.tbl_keys(M.subcommands)) end
  local complete = (M.subcommands[name] or {}).complete
  return complete and beginning(lead, complete(lead)) or {}
end

--- Completes what is typed after `:Aside ask` alone: the whole line, of which the last word counts.
function M.complete_input(line)
  local before, lead = line:match('^(.-)(%S*)$')
  return vim.tbl_map(function(word) return before .. word end, beginning(lead, attachments.complete(lead)))
end

return M

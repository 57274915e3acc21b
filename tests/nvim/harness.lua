--- What each test stands on: a workspace of its own, the real server with a script for its model, and a person whose
--- choices are said beforehand.
local M = {}

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
M.repository = vim.fs.dirname(vim.fs.dirname(here))
M.plugin = M.repository .. '/editors/nvim'
M.aside = assert(vim.env.ASIDE, 'ASIDE is the program under test')
M.asking = assert(vim.env.ASKING, 'ASKING is the program with a tool that asks whatever it is told')

--- How long anything may take that does not wait for a person.
local PATIENCE = tonumber(vim.env.PATIENCE) or 60000

M.passed, M.failed = 0, 0
--- Each message that was sent to the server: { method, params } or { method, result }.
M.sent = {}
--- Messages below, the newest last.
M.said = {}
--- Whether they are shown, too.
M.loud = false

local deep = vim.inspect

function M.fail(text) error(text, 0) end

---@param got any
---@param wanted any
---@param what? string
function M.equal(got, wanted, what)
  if not vim.deep_equal(got, wanted) then
    M.fail(('%s\n  wanted: %s\n  got:    %s'):format(what or 'not equal', deep(wanted), deep(got)))
  end
end

---@param text string
---@param part string
function M.has(text, part)
  if not text:find(part, 1, true) then M.fail(('expected to find %s in\n%s'):format(deep(part), text)) end
end

---@param text string
---@param part string
function M.lacks(text, part)
  if text:find(part, 1, true) then M.fail(('did not expect to find %s in\n%s'):format(deep(part), text)) end
end

--- Waits until something holds, and gives it back.
---@param what string
---@param condition fun(): any
function M.wait(what, condition)
  local value
  local ok = vim.wait(PATIENCE, function()
    value = condition()
    return value
  end, 5)
  if not ok then
    local said = table.concat(M.said, '\n  ')
    M.fail(('waited in vain: %s\n  said: %s\n  page:\n%s'):format(what, said, M.page()))
  end
  return value
end

--- The text of the answer that was made last.
---@return string
function M.page()
  local View = package.loaded['aside.view']
  local view = View and (View.visible() or View.of())
  return view and table.concat(vim.api.nvim_buf_get_lines(view.buf, 0, -1, true), '\n') or ''
end

--- What stands beside the lines of the answer that stand for tools and questions, after the first word of each.
---@return string[]
function M.beside()
  local buf, said = assert(require('aside.view').visible()).buf, {}
  local namespace = vim.api.nvim_get_namespaces()['aside.view']
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, namespace, 0, -1, { details = true })) do
    local virtual = mark[4].virt_text and mark[4].virt_text[1][1] or ''
    said[#said + 1] = vim.fn.getbufline(buf, mark[2] + 1)[1]:match('^`%S+') .. virtual
  end
  return said
end

---@return string
function M.text(name) return table.concat(vim.fn.readfile(name), '\n') end

---@return string
function M.buffer(name) return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr(name), 0, -1, true), '\n') end

--- Neovim's own list, which the person's choices stand in for.
M.select = vim.ui.select

--- Whether Aside's own list is shown, which the person's choices stand in for, too.
M.own_list = false

--- What the person picks or types next, in order. `false` is Escape.
M.choices = {}

--- What the person picks, as often as it takes, where nothing is left of that.
M.otherwise = nil

--- What the person was shown.
M.shown = {}

local function stub_person()
  M.choices, M.otherwise, M.shown = {}, nil, {}
  local function following(kind, prompt, items)
    M.shown[#M.shown + 1] = { kind = kind, prompt = prompt, items = items }
    assert(#M.choices > 0 or M.otherwise, ('nobody expected this: %s, %s'):format(prompt, deep(items)))
    local choice = table.remove(M.choices, 1)
    if choice == nil then choice = M.otherwise end
    return type(choice) == 'function' and choice(items) or choice
  end
  M.own_list = false
  vim.ui.select = function(items, options, done)
    local texts = vim.tbl_map(options.format_item or tostring, items)
    local choice = following('select', options.prompt, texts)
    for at, text in ipairs(texts) do
      if text == choice then return done(items[at], at) end
    end
    assert(choice == false, ('%s is none of %s'):format(tostring(choice), deep(texts)))
    done(nil, nil)
  end
  vim.ui.input = function(options, done)
    local text = following('input', options.prompt, options.default)
    done(text or nil)
  end
  vim.fn.inputsecret = function(prompt) return following('secret', prompt) or '' end
end

--- How many milliseconds what is told of a turn comes after prompts and answers, which may overtake it. A test that does
--- not wait for what it reads then fails each time.
local LATE = tonumber(vim.env.LATE)

--- Holds back what is told of a turn.
local function hold_back(dispatchers)
  local told, exits, gone = dispatchers.notification, dispatchers.on_exit, false
  dispatchers.on_exit = function(...)
    gone = true
    return exits(...)
  end
  dispatchers.notification = function(method, params)
    if not vim.startswith(method, 'aside/turn/') then return told(method, params) end
    local sent = M.sent
    vim.defer_fn(function()
      -- A server that ended tells nothing more, and nothing is told to the next test.
      if sent == M.sent and not gone then told(method, params) end
    end, assert(LATE))
  end
end

--- Keeps what is sent.
local function listen()
  local start = vim.lsp.rpc.start
  vim.lsp.rpc.start = function(command, dispatchers, extra)
    if LATE then hold_back(dispatchers) end
    local served = dispatchers.server_request
    dispatchers.server_request = function(method, params)
      local result, err = served(method, params)
      M.sent[#M.sent + 1] = { method = method, result = result, error = err }
      return result, err
    end
    local rpc = start(command, dispatchers, extra)
    for _, name in ipairs({ 'request', 'notify' }) do
      local send = rpc[name]
      rpc[name] = function(method, params, ...)
        M.sent[#M.sent + 1] = { method = method, params = params }
        return send(method, params, ...)
      end
    end
    return rpc
  end
end

---@class Given
---@field script? string what the model says
---@field files? table<string, string>
---@field untrusted? boolean
---@field asking? boolean the server has one more tool, which asks whatever it is told
---@field config? table
---@field absent? boolean there is no server to be found

---@param given Given
local function prepare(given)
  local folder = vim.fn.tempname()
  local home, workspace = folder .. '/home', folder .. '/workspace'
  vim.fn.mkdir(home, 'p')
  vim.fn.mkdir(workspace .. '/.git', 'p')
  vim.env.HOME = home
  for _, name in ipairs({ 'CONFIG', 'DATA', 'STATE', 'CACHE' }) do
    vim.env['XDG_' .. name .. '_HOME'] = home .. '/' .. name:lower()
  end
  vim.env.CARGO_HOME = nil
  for name, text in pairs(given.files or {}) do
    vim.fn.mkdir(vim.fs.dirname(workspace .. '/' .. name), 'p')
    local file = assert(io.open(workspace .. '/' .. name, 'w'))
    file:write(text)
    file:close()
  end
  local script = folder .. '/script.toml'
  vim.fn.writefile(vim.split(given.script or '', '\n'), script)
  vim.env.ASIDE_ASSISTANT__MODEL = 'rehearsal/' .. script
  if not given.untrusted then
    local done = vim.system({ M.aside, 'trust', '--yes' }, { text = true, cwd = workspace }):wait()
    assert(done.code == 0, done.stderr)
  end
  local program = M.aside
  if given.asking then
    program = folder .. '/asking'
    local lines = { '#!/bin/sh', ('[ "$1" = --version ] && exec %s --version'):format(M.aside), 'exec ' .. M.asking }
    vim.fn.writefile(lines, program)
    vim.uv.fs_chmod(program, 493)
  end
  if given.absent then program = folder .. '/aside' end
  vim.g.aside = vim.tbl_extend('force', { server = program }, given.config or {})
  vim.cmd.cd(workspace)
  M.workspace = vim.uv.fs_realpath(workspace)
end

local function clean()
  local client = package.loaded['aside.client']
  if client then
    client.stop()
    vim.wait(PATIENCE, function() return not client.alive() end, 5)
  end
  vim.cmd('silent! stopinsert | silent! setlocal nowinfixbuf | silent! tabonly! | silent! only! | silent! %bwipeout!')
  for name in pairs(package.loaded) do
    if name == 'aside' or vim.startswith(name, 'aside.') then package.loaded[name] = nil end
  end
  vim.fn.setqflist({}, 'f')
  vim.api.nvim_create_augroup('aside', {})
end

--- One thing that holds.
---@param name string
---@param given Given
---@param body fun()
function M.test(name, given, body)
  if M.only and not name:find(M.only, 1, true) then return end
  prepare(given)
  stub_person()
  M.sent, M.said, M.outcomes = {}, {}, {}
  local ok, why = xpcall(body, function(failure) return type(failure) == 'string' and failure or deep(failure) end)
  if ok then
    ok, why = pcall(require('wire').check, M.sent)
  end
  if ok and #M.choices > 0 then
    ok, why = false, 'the person was never asked for ' .. deep(M.choices)
  end
  clean()
  M[ok and 'passed' or 'failed'] = M[ok and 'passed' or 'failed'] + 1
  M.print(('%s %s\n'):format(ok and 'ok    ' or 'FAILED', name))
  if not ok then M.print('  ' .. tostring(why):gsub('\n', '\n  ') .. '\n') end
end

--- Asks, and waits for the end of the turn.
---@param command string
function M.ask(command)
  M.outcomes = {}
  vim.cmd(command)
  M.ended()
end

--- Waits until the server has answered all that it was asked.
function M.answered()
  M.wait('the server answers', function()
    local requests = vim.tbl_values(require('aside.client').client.requests)
    return not vim.iter(requests):any(function(request) return request.type == 'pending' end)
  end)
end

--- Waits for the end of what runs. What the person decided may be answered after it.
function M.ended()
  M.wait('the turn ends', function() return M.outcomes[1] and not require('aside.turn').running() end)
  M.answered()
end

--- The process of the server: the one child that is called aside, or asking.
---@return integer
function M.server()
  for _, child in ipairs(vim.api.nvim_get_proc_children(vim.uv.os_getpid())) do
    local name = (vim.api.nvim_get_proc(child) or {}).name
    if name == 'aside' or name == 'asking' then return child end
  end
  error('the server does not run')
end

--- The events of a kind in the logs of all conversations.
---@param kind string
---@return table[]
function M.events(kind)
  local events = {}
  for _, log in ipairs(vim.fs.find('events.jsonl', { path = vim.env.XDG_STATE_HOME, limit = math.huge })) do
    for _, line in ipairs(vim.fn.readfile(log)) do
      local event = vim.json.decode(line)
      if event.type == kind then events[#events + 1] = event end
    end
  end
  return events
end

--- Whether the answer of a turn has the line of a prompt, which may come later than the prompt.
local function has_line(prompt)
  local function is_its(view) return view.turn == prompt.turnId and view:exists() end
  local view = vim.iter(require('aside.view').all()):find(is_its)
  return prompt.resumable or not view or view.lines[prompt.promptId] ~= nil
end

--- Waits until so many prompts are open, and in their answers.
---@param count integer
function M.prompts(count)
  return M.wait(count .. ' prompts are open', function()
    local open = require('aside.prompt').open()
    return #open == count and vim.iter(open):all(has_line) and open
  end)
end

--- Waits until the person was asked for all that was said beforehand.
function M.asked()
  M.wait('the person is asked for ' .. deep(M.choices), function() return #M.choices == 0 end)
end

--- Waits until the last line below has this in it.
---@param part string
function M.says(part)
  M.wait('it is said: ' .. part, function() return M.said[#M.said] and M.said[#M.said]:find(part, 1, true) end)
end

--- Runs a command that asks the person, and waits until all of it was asked.
---@param command string
function M.picks(command, ...)
  M.choices = { ... }
  vim.cmd(command)
  M.asked()
end

--- Presses keys in normal mode, as if typed.
---@param keys string
function M.press(keys) vim.api.nvim_feedkeys(vim.keycode(keys), 'xt', false) end

--- Draws, and waits until whatever looks at the screen has looked.
function M.draw()
  local looked = false
  vim.cmd.redraw()
  vim.schedule(function() looked = true end)
  M.wait('the screen is looked at', function() return looked end)
end

--- What is on the screen.
---@return string
function M.screen()
  vim.cmd.redraw()
  return table.concat(require('cells')(), '\n')
end

M.outcomes = {}

---@param out file* what is found goes there
function M.begin(out)
  M.print = function(text)
    out:write(text)
    out:flush()
  end
  -- A message that is longer than a line waits for no key.
  vim.o.more, vim.o.shortmess = false, 'filnxtToOFcTI'
  vim.opt.runtimepath:prepend(M.plugin)
  vim.cmd('runtime plugin/aside.lua')
  package.preload['aside.shown'] = function()
    local shown = dofile(M.plugin .. '/lua/aside/shown.lua')
    shown.pause = 0 -- nobody has to read it
    return shown
  end
  package.preload['aside.select'] = function()
    local own = dofile(M.plugin .. '/lua/aside/select.lua')
    return function(...) return (M.own_list and own or vim.ui.select)(...) end
  end
  vim.o.swapfile = false
  vim.o.showmode = false
  listen()
  local echo = vim.api.nvim_echo
  vim.api.nvim_echo = function(chunks, ...)
    M.said[#M.said + 1] = chunks[1][1]
    return echo(M.loud and chunks or {}, ...)
  end
  vim.api.nvim_create_autocmd('User', {
    pattern = { 'AsideTurnStarted', 'AsideTurnEnded' },
    callback = function(event) M.outcomes = event.match == 'AsideTurnStarted' and {} or { event.data.outcome } end,
  })
end

return M

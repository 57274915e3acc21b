--- Tools that run in the editor. The server describes them to the model; see editors/PROTOCOL.md.
local attachments = require('aside.attachments')
local client = require('aside.client')
local config = require('aside.config')

local M = {
  told = {}, ---@type table<integer, integer> the state of each buffer that diagnostics were last told of
}

local WAITS = 5000 -- milliseconds for which diagnostics of a changed text are waited for

--- The buffer of a file, opened without a window where it is not; language servers look at it then.
---@param root string where a relative path is from
local function open(name, root)
  local full = vim.fs.normalize(name:find('^[/~]') and name or vim.fs.joinpath(root, name))
  if vim.fn.filereadable(full) ~= 1 then error(('there is no file %s'):format(name), 0) end
  local buf = vim.fn.bufadd(full)
  vim.fn.bufload(buf)
  return buf
end

--- Asks language servers, without keeping Neovim waiting.
---@param filter { bufnr?: integer, method: string } which servers are asked, and for what
---@param params fun(client: vim.lsp.Client): table
---@return { client: vim.lsp.Client, result: any }[]
local function ask(filter, params)
  local clients = vim.lsp.get_clients(filter)
  if #clients == 0 then
    local name = filter.bufnr and vim.api.nvim_buf_get_name(filter.bufnr) or 'the workspace'
    error(('no language server of %s supports this'):format(name), 0)
  end
  local waiting, all, left = nil, {}, #clients
  for _, one in ipairs(clients) do
    client.call(one, 'request', filter.method, params(one), function(_, result)
      all[#all + 1] = result and { client = one, result = result }
      left = left - 1
      if left == 0 and waiting then coroutine.resume(waiting) end
    end, filter.bufnr)
  end
  -- A server inside Neovim may have answered already.
  if left > 0 then
    waiting = coroutine.running()
    coroutine.yield()
  end
  return all
end

local function outline(symbols, depth, lines)
  for _, symbol in ipairs(symbols) do
    local row = (symbol.range or symbol.location.range).start.line + 1
    local kind = vim.lsp.protocol.SymbolKind[symbol.kind] or 'Symbol'
    lines[#lines + 1] = ('%s%d: %s %s'):format(('  '):rep(depth), row, kind, symbol.name)
    outline(symbol.children or {}, depth + 1, lines)
  end
end

--- The line of a place in a result.
local function place(name, item) return ('%s:%d:%d: %s'):format(name, item.lnum, item.col, vim.trim(item.text)) end

--- Each tool returns lines. A relative path in the arguments starts from `root`.
---@type table<string, fun(arguments: table, root: string): string[]>
local tools = {}

--- Waits until what is known of a buffer is about its present text. Gives back what is said in place of it, where nothing
--- is known.
---@return string? unknown
local function await_diagnostics(buf, root)
  local name = attachments.path(vim.api.nvim_buf_get_name(buf), root)
  local function is_other(one) return one.name ~= 'aside' end
  -- A server that starts with the buffer attaches a moment later.
  local waiting, due = coroutine.running(), vim.uv.now() + WAITS
  while M.told[buf] ~= vim.api.nvim_buf_get_changedtick(buf) do
    if vim.uv.now() >= due then
      local servers = vim.iter(vim.lsp.get_clients({ bufnr = buf })):any(is_other)
      local why = servers and 'Not known yet: no language server has looked at the present text of %s.'
        or 'Not known: no language server looks at %s.'
      return why:format(name)
    end
    vim.defer_fn(function() coroutine.resume(waiting) end, 50)
    coroutine.yield()
  end
end

function tools.editor_diagnostics(arguments, root)
  local buf = arguments.path and open(arguments.path, root) or nil
  local unknown = buf and await_diagnostics(buf, root)
  if unknown then return { unknown } end
  local found = vim.tbl_map(function(item) return attachments.diagnostic(item, root) end, vim.diagnostic.get(buf))
  return #found > 0 and found or { buf and 'There are none.' or 'There are none in the files that are open.' }
end

function tools.editor_open_files(_, root)
  local lines = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if vim.bo[buf].buflisted and vim.bo[buf].buftype == '' and name ~= '' then
      lines[#lines + 1] = attachments.path(name, root) .. (vim.bo[buf].modified and ' (not saved)' or '')
    end
  end
  return lines
end

--- Symbols of the workspace with this in their name.
local function symbols_like(query, root)
  local lines = {}
  local function params() return { query = query } end
  for _, answer in ipairs(ask({ method = 'workspace/symbol' }, params)) do
    for _, item in ipairs(vim.lsp.util.symbols_to_items(answer.result, 0, answer.client.offset_encoding)) do
      lines[#lines + 1] = place(attachments.path(item.filename, root), item)
    end
  end
  return lines
end

function tools.editor_symbols(arguments, root)
  if not arguments.path then return symbols_like(arguments.query or '', root) end
  local buf, lines = open(arguments.path, root), {}
  local function params() return { textDocument = { uri = vim.uri_from_bufnr(buf) } } end
  for _, answer in ipairs(ask({ bufnr = buf, method = 'textDocument/documentSymbol' }, params)) do
    outline(answer.result, 0, lines)
  end
  return lines
end

function tools.editor_references(arguments, root)
  local buf, row, lines = open(arguments.path, root), arguments.line - 1, {}
  local text = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ''
  local at = text:find(arguments.symbol, 1, true)
  if not at then error(('line %d of %s does not contain %s'):format(row + 1, arguments.path, arguments.symbol), 0) end
  local function params(one)
    return {
      textDocument = { uri = vim.uri_from_bufnr(buf) },
      position = { line = row, character = vim.lsp.util.character_offset(buf, row, at - 1, one.offset_encoding) },
      context = { includeDeclaration = true },
    }
  end
  for _, answer in ipairs(ask({ bufnr = buf, method = 'textDocument/references' }, params)) do
    for _, item in ipairs(vim.lsp.util.locations_to_items(answer.result, answer.client.offset_encoding)) do
      lines[#lines + 1] = place(attachments.path(item.filename, root), item)
    end
  end
  return lines
end

function tools.editor_selection(_, root)
  local buf, line = client.code()
  local first, last = attachments.selection(buf)
  local lines = { ('%s, line %d.'):format(attachments.path(vim.api.nvim_buf_get_name(buf), root), line) }
  if first == 0 then return lines end
  lines[2] = ('Selected are lines %d to %d:'):format(first, last)
  return vim.list_extend(lines, vim.api.nvim_buf_get_lines(buf, first - 1, last, false))
end

--- Notes from now on for which state of a buffer diagnostics came. Those of what is open already are there.
function M.watch()
  local function note(event) M.told[event.buf] = vim.api.nvim_buf_get_changedtick(event.buf) end
  for _, one in ipairs(vim.lsp.get_clients()) do
    for buf in pairs(one.name ~= 'aside' and one.attached_buffers or {}) do
      note({ buf = buf })
    end
  end
  for _, item in ipairs(vim.diagnostic.get()) do
    note({ buf = item.bufnr })
  end
  local group = vim.api.nvim_create_augroup('aside.diagnostics', {})
  vim.api.nvim_create_autocmd('DiagnosticChanged', { group = group, callback = note })
end

--- Tells the other language servers of files that changed on disk and are open in no buffer: nobody else does.
---@param uris string[]
function M.tell(uris)
  for _, one in ipairs(vim.lsp.get_clients()) do
    local changes = {}
    for _, uri in ipairs(uris) do
      local is_mine = vim
        .iter(one.workspace_folders or {})
        :any(function(folder) return vim.startswith(uri, folder.uri) end)
      if is_mine and not client.buffer(uri) then
        changes[#changes + 1] = { uri = uri, type = vim.lsp.protocol.FileChangeType.Changed }
      end
    end
    if #changes > 0 and one.name ~= 'aside' then
      client.call(one, 'notify', 'workspace/didChangeWatchedFiles', { changes = changes })
    end
  end
end

--- The names of the tools that this editor serves, for the capabilities of the client.
---@return string[]
function M.served()
  local names = vim.tbl_keys(tools)
  table.sort(names)
  return names
end

--- This file exists while the person allows these tools by name.
M.allowed = vim.fs.joinpath(vim.fn.stdpath('state') --[[@as string]], 'aside-tools')

--- The names in one line, without their common prefix.
function M.names() return (config.names(tools):gsub('editor_', '')) end

--- Whether a prompt asks for permission to run one of these tools.
---@param prompt aside.Prompt
function M.is_own(prompt) return prompt.kind == 'runTool' and tools[prompt.tool.name] ~= nil end

--- Adds the person's permission for these tools to the settings. The person's own configuration overrides it.
---@param settings table those of the client
function M.apply(settings)
  if vim.fn.filereadable(M.allowed) == 0 then return end
  local by_name = vim.tbl_map(function() return { run = 'unattended' } end, tools)
  local mine = { conversation = { tools = by_name } }
  settings.aside.config = vim.tbl_deep_extend('force', mine, settings.aside.config)
end

--- Allows these tools by name, as the person chose. They only read.
function M.allow()
  local told = ('run unasked in the editor: %s; delete this file to be asked again'):format(M.names())
  vim.fn.writefile({ told }, M.allowed)
  local running = assert(client.client)
  M.apply(running.settings)
  client.call(running, 'notify', 'workspace/didChangeConfiguration', { settings = running.settings })
end

--- The request `aside/tool/call`.
---@param params { name: string, arguments: table, root: string }
---@return { content: string, isError: boolean }
function M.call(params)
  local tool = tools[params.name]
  if not tool then return { content = ('This editor has no tool %s.'):format(params.name), isError = true } end
  local ok, lines = pcall(tool, params.arguments, vim.uri_to_fname(params.root))
  if not ok then return { content = tostring(lines), isError = true } end
  return { content = #lines > 0 and table.concat(lines, '\n') or 'There is nothing.', isError = false }
end

return M

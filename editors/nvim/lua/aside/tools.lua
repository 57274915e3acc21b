--- Tools that run in the editor: what the running language servers know, and what is selected.
local attachments = require('aside.attachments')
local client = require('aside.client')
local config = require('aside.config')

local M = {}

--- The buffer of a file, opened without a window where it is not; language servers look at it then.
---@param root string where a relative path is from
local function open(name, root)
  local full = vim.fs.normalize(name:find('^[/~]') and name or vim.fs.joinpath(root, name))
  if vim.fn.filereadable(full) ~= 1 then error(('there is no file %s'):format(name), 0) end
  local buf = vim.fn.bufadd(full)
  vim.fn.bufload(buf)
  return buf
end

--- Asks the language servers of a buffer, without keeping Neovim waiting.
---@param params fun(client: vim.lsp.Client): table
---@return { client: vim.lsp.Client, result: any }[]
local function ask(buf, method, params)
  local clients = vim.lsp.get_clients({ bufnr = buf, method = method })
  if #clients == 0 then error(('no language server of %s knows this'):format(vim.api.nvim_buf_get_name(buf)), 0) end
  local waiting, all, left = nil, {}, #clients
  for _, one in ipairs(clients) do
    client.call(one, 'request', method, params(one), function(_, result)
      all[#all + 1] = result and { client = one, result = result }
      left = left - 1
      if left == 0 and waiting then coroutine.resume(waiting) end
    end, buf)
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

--- What each tool does with its arguments, of which a relative path is from the folder: gives back lines.
---@type table<string, fun(arguments: table, root: string): string[]>
local tools = {}

function tools.editor_diagnostics(arguments, root)
  local buf = arguments.path and open(arguments.path, root) or nil
  return vim.tbl_map(function(item) return attachments.diagnostic(item, root) end, vim.diagnostic.get(buf))
end

function tools.editor_symbols(arguments, root)
  local buf, lines = open(arguments.path, root), {}
  local function params() return { textDocument = { uri = vim.uri_from_bufnr(buf) } } end
  for _, answer in ipairs(ask(buf, 'textDocument/documentSymbol', params)) do
    outline(answer.result, 0, lines)
  end
  return lines
end

function tools.editor_references(arguments, root)
  local buf, row, lines = open(arguments.path, root), arguments.line - 1, {}
  local text = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ''
  local at = text:find(arguments.symbol, 1, true)
  if not at then error(('line %d of %s has no %s in it'):format(row + 1, arguments.path, arguments.symbol), 0) end
  local function params(one)
    return {
      textDocument = { uri = vim.uri_from_bufnr(buf) },
      position = { line = row, character = vim.lsp.util.character_offset(buf, row, at - 1, one.offset_encoding) },
      context = { includeDeclaration = true },
    }
  end
  for _, answer in ipairs(ask(buf, 'textDocument/references', params)) do
    for _, item in ipairs(vim.lsp.util.locations_to_items(answer.result, answer.client.offset_encoding)) do
      local name = attachments.path(item.filename, root)
      lines[#lines + 1] = ('%s:%d:%d: %s'):format(name, item.lnum, item.col, vim.trim(item.text))
    end
  end
  return lines
end

function tools.editor_selection(_, root)
  local first, last = attachments.selection()
  local lines = { ('%s, line %d.'):format(attachments.path(vim.api.nvim_buf_get_name(0), root), vim.fn.line('.')) }
  if first == 0 then return lines end
  lines[2] = ('Selected are lines %d to %d:'):format(first, last)
  return vim.list_extend(lines, vim.api.nvim_buf_get_lines(0, first - 1, last, false))
end

--- What the client says of its tools when it starts the server.
function M.declared()
  local path = { type = 'string', description = 'Path of a file, absolute or from the folder of the workspace.' }
  local line = { type = 'integer', minimum = 1, description = 'A line on which the symbol stands.' }
  local symbol = { type = 'string', description = 'The name, as it stands on that line.' }
  local function declare(name, description, properties, required)
    local schema = { type = 'object', properties = properties, required = required, additionalProperties = false }
    return { name = name, description = description, inputSchema = schema, readOnly = true }
  end
  local diagnostics = 'Errors and warnings that language servers and linters show, of one file or of all open ones.'
  local selection = 'The file and the line at which the user is, and what the user selected last in it.'
  local symbols = 'The outline of a file by its language server: functions, types and so on, each with its line.'
  local place = { path = path, line = line, symbol = symbol }
  return {
    declare('editor_diagnostics', diagnostics, { path = path }),
    declare(
      'editor_references',
      'Where a symbol is used, by the language server.',
      place,
      { 'path', 'line', 'symbol' }
    ),
    declare('editor_selection', selection, vim.empty_dict()),
    declare('editor_symbols', symbols, { path = path }, { 'path' }),
  }
end

--- There when the person allowed these tools by name.
M.allowed = vim.fs.joinpath(vim.fn.stdpath('state') --[[@as string]], 'aside-tools')

--- Their names in a line, without what all of them begin with.
function M.names() return (config.names(tools):gsub('editor_', '')) end

--- Whether a prompt is about one of these tools, and about nothing else.
---@param prompt aside.Prompt
function M.is_own(prompt) return prompt.kind == 'runTool' and tools[prompt.tool.name] ~= nil end

--- Lets these tools run unasked, where the person allowed that. What is configured counts more.
---@param settings table those of the client
function M.apply(settings)
  if vim.fn.filereadable(M.allowed) == 0 then return end
  local by_name = vim.tbl_map(function() return { run = 'unattended' } end, tools)
  local mine = { conversation = { tools = by_name } }
  settings.aside.config = vim.tbl_deep_extend('force', mine, settings.aside.config)
end

--- The person allows these tools by name: they only read.
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
  if not tool then return { content = ('There is no tool %s.'):format(params.name), isError = true } end
  local ok, lines = pcall(tool, params.arguments, vim.uri_to_fname(params.root))
  if not ok then return { content = tostring(lines), isError = true } end
  return { content = #lines > 0 and table.concat(lines, '\n') or 'There are none.', isError = false }
end

return M

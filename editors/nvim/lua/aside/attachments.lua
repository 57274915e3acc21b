--- Attachments of a message: a range of a buffer, and the files that `@` names.
local client = require('aside.client')

local M = {}

local TERMINAL = 500 -- lines

--- A text that is no file's, as an attachment.
---@param name string
---@param lines string[]
local function pasted(name, lines)
  local text = vim.trim(table.concat(lines, '\n'))
  return text ~= '' and { { uri = 'untitled:' .. name, text = text } } or {}
end

--- Words after `@` that are no path, what each is, and what it attaches.
---@type table<string, { what: string, attach: fun(buf: integer): table[] }>
local words = {
  buffers = {
    what = 'all open files',
    attach = function()
      local all = vim.fn.getbufinfo({ buflisted = 1, bufloaded = 1 })
      local files = vim.tbl_filter(function(info) return info.name ~= '' and vim.bo[info.bufnr].buftype == '' end, all)
      return vim.tbl_map(function(info) return { uri = vim.uri_from_bufnr(info.bufnr) } end, files)
    end,
  },
  diagnostics = { what = 'errors and warnings of the file', attach = function(buf) return M.diagnostics(buf) end },
  diff = {
    what = 'what is not committed',
    attach = function(buf)
      local done = require('aside.server').run({ 'git', '-C', client.root(buf), 'diff', 'HEAD' }, 5000)
      return done.code == 0 and pasted('diff', { done.stdout or '' }) or {}
    end,
  },
  quickfix = {
    what = 'the quickfix list',
    attach = function(buf)
      local root = client.root(buf)
      local function told(item)
        local name = item.bufnr > 0 and M.path(vim.api.nvim_buf_get_name(item.bufnr), root) or ''
        return ('%s:%d:%d: %s'):format(name, item.lnum, item.col, item.text)
      end
      return pasted('quickfix', vim.tbl_map(told, vim.fn.getqflist()))
    end,
  },
  selection = {
    what = 'the lines that were selected last',
    attach = function(buf)
      local first, last = M.selection(buf)
      return first > 0 and { M.range(buf, first, last) } or {}
    end,
  },
  terminal = {
    what = 'what the last terminal shows',
    attach = function()
      local last ---@type table?
      for _, info in ipairs(vim.fn.getbufinfo({ bufloaded = 1 })) do
        local terminal = vim.bo[info.bufnr].buftype == 'terminal'
        if terminal and (not last or info.lastused > last.lastused) then last = info end
      end
      return last and pasted('terminal', vim.api.nvim_buf_get_lines(last.bufnr, -TERMINAL, -1, false)) or {}
    end,
  },
}

--- The lines that were selected last in a buffer; 0 where none were.
---@param buf integer
---@return integer first
---@return integer last
function M.selection(buf) return vim.api.nvim_buf_get_mark(buf, '<')[1], vim.api.nvim_buf_get_mark(buf, '>')[1] end

--- The path of a file from a folder, where it lies in that.
---@param name string
---@param root string
---@return string
function M.path(name, root) return vim.startswith(name, root .. '/') and name:sub(#root + 2) or name end

--- Lines of a buffer. The text of one without a file goes along as it is.
---@param first integer 1 and up
---@param last integer
---@return table attachment
function M.range(buf, first, last)
  local lines, name = vim.api.nvim_buf_get_lines(buf, first - 1, last, false), vim.api.nvim_buf_get_name(buf)
  if name == '' or vim.bo[buf].buftype ~= '' then
    return { uri = 'untitled:' .. (name ~= '' and vim.fs.basename(name) or 'buffer'), text = table.concat(lines, '\n') }
  end
  local stop = { line = last - 1, character = #(lines[#lines] or '') }
  return { uri = vim.uri_from_bufnr(buf), range = { start = { line = first - 1, character = 0 }, ['end'] = stop } }
end

--- The diagnostics of a buffer, or of some of its lines, as text.
---@param first? integer
---@param last? integer
---@return table[] attachments
function M.diagnostics(buf, first, last)
  local function is_there(item) return not first or item.lnum + 1 >= first and item.lnum < last end
  local root = client.root(buf)
  local function told(item) return M.diagnostic(item, root) end
  local found = vim.tbl_map(told, vim.tbl_filter(is_there, vim.diagnostic.get(buf)))
  return #found > 0 and { { uri = 'untitled:diagnostics', text = table.concat(found, '\n') } } or {}
end

---@param root string
---@return string
function M.diagnostic(item, root)
  local severity = tostring(vim.diagnostic.severity[item.severity or 1]):lower()
  local source = item.source and (' (%s)'):format(item.source) or ''
  local name = M.path(vim.api.nvim_buf_get_name(item.bufnr), root)
  local at = ('%s:%d:%d'):format(name, item.lnum + 1, item.col + 1)
  return ('%s: %s: %s%s'):format(at, severity, item.message, source)
end

--- The words of a message that begin with `@`, without what follows a word in a sentence.
---@param message string
---@return string[]
local function named_in(message)
  local all = {}
  for word in (' ' .. message):gmatch('%s@(%S+)') do
    all[#all + 1] = word:gsub('[,;:.?!)]+$', '')
  end
  return all
end

--- The file that a word names, and the lines where it names some: `path`, `path:3` or `path:3-7`.
---@param word string
---@return string? file
---@return integer? first
---@return integer? last
local function file_in(word)
  if vim.fn.filereadable(word) == 1 then return word end
  local path, first, last = word:match('^(.+):(%d+)%-?(%d*)$')
  if not path or vim.fn.filereadable(path) ~= 1 then return nil end
  local from = tonumber(first) --[[@as integer]]
  return path, from, tonumber(last) --[[@as integer?]] or from
end

--- The word that names lines of a buffer, where it is a file's.
---@return string?
function M.word_of(buf, first, last)
  local name = vim.api.nvim_buf_get_name(buf)
  if name == '' or vim.bo[buf].buftype ~= '' then return nil end
  local path = vim.fn.fnamemodify(name, ':.')
  return not path:find('%s') and ('@%s:%d-%d'):format(path, first, last) or nil
end

--- The attachments that a message names with `@`, and the words that name nothing.
---@param buf integer the one that the message is about
---@return table[] attachments
---@return string[] missing
function M.named(message, buf)
  local all, missing = {}, {}
  for _, word in ipairs(named_in(message)) do
    local path, first, last = file_in(word)
    local found = {}
    if words[word] then
      found = words[word].attach(buf)
    elseif path and first then
      local file = vim.fn.bufadd(vim.fn.fnamemodify(path, ':p'))
      vim.fn.bufload(file)
      local count = vim.api.nvim_buf_line_count(file)
      first = math.max(1, math.min(first, count))
      found = { M.range(file, first, math.max(first, math.min(last, count))) }
    elseif path then
      found = { { uri = vim.uri_from_fname(vim.fn.fnamemodify(path, ':p')) } }
    end
    vim.list_extend(all, found)
    missing[#missing + 1] = #found == 0 and word or nil
  end
  return all, missing
end

--- Words of what goes along, and of what does not, in a line.
---@param labels string[]
---@param missing string[]
local function line_of(labels, missing)
  local absent = vim.tbl_map(function(word) return ('nothing for @%s'):format(word) end, missing)
  return table.concat(vim.list_extend(labels, absent), ' · ')
end

--- What goes along with a message that was sent, in a line.
---@param attachments table[]
---@param missing string[] words that name nothing
---@return string
function M.list(attachments, missing)
  local function label(item)
    local name = item.uri:match('^untitled:(.*)$')
    local lines = item.text and #vim.split(item.text, '\n')
    if lines then return ('%s, %d line%s'):format(name, lines, lines == 1 and '' or 's') end
    local path, range = vim.fn.fnamemodify(vim.uri_to_fname(item.uri), ':~:.'), item.range
    if not range then return path end
    local first, last = range.start.line + 1, range['end'].line + 1
    return first == last and ('%s:%d'):format(path, first) or ('%s:%d-%d'):format(path, first, last)
  end
  return line_of(vim.tbl_map(label, attachments), missing)
end

--- What would go along with a message that is being written, in a line; nothing is run to know it.
---@param message string
---@return string
function M.foretell(message)
  local labels, missing = {}, {}
  for _, word in ipairs(named_in(message)) do
    table.insert((words[word] or file_in(word)) and labels or missing, word)
  end
  return line_of(labels, missing)
end

--- The words that begin with one that begins with `@`, and what each is.
---@param lead string
---@return aside.Word[]
function M.words(lead)
  if lead:sub(1, 1) ~= '@' then return {} end
  local all = {}
  for name, word in vim.spairs(words) do
    all[#all + 1] = { word = '@' .. name, what = word.what }
  end
  for _, file in ipairs(vim.fn.getcompletion(lead:sub(2), 'file')) do
    all[#all + 1] = { word = '@' .. file, what = vim.endswith(file, '/') and 'folder' or 'file' }
  end
  return all
end

--- Completes a word that begins with `@`.
function M.complete(lead)
  return vim.tbl_map(function(item) return item.word end, M.words(lead))
end

--- An attachment as a part of a message, for a turn that runs already and takes text alone.
---@param root? string of the turn, from which its tools take paths
function M.as_text(item, root)
  local name, text, range = item.uri, item.text, item.range
  if not vim.startswith(name, 'untitled:') then name = vim.uri_to_fname(name) end
  name = root and M.path(name, root) or name
  if range then
    local buf = vim.uri_to_bufnr(item.uri)
    text = table.concat(vim.api.nvim_buf_get_lines(buf, range.start.line, range['end'].line + 1, false), '\n')
    name = ('%s, from line %d'):format(name, range.start.line + 1)
  end
  return text and ('\n\n%s:\n\n%s'):format(name, text) or ('\n\n(with %s)'):format(name)
end

return M

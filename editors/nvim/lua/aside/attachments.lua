--- Attachments of a message: a range of a buffer, and the files that `@` names.
local client = require('aside.client')

local M = {}

--- Words after `@` that are no path, and what each attaches.
---@type table<string, fun(buf: integer): table[]>
local words = {
  buffers = function()
    local all = vim.fn.getbufinfo({ buflisted = 1, bufloaded = 1 })
    local files = vim.tbl_filter(function(info) return info.name ~= '' and vim.bo[info.bufnr].buftype == '' end, all)
    return vim.tbl_map(function(info) return { uri = vim.uri_from_bufnr(info.bufnr) } end, files)
  end,
  diagnostics = function(buf) return M.diagnostics(buf) end,
  selection = function(buf)
    local first, last = M.selection()
    return first > 0 and { M.range(buf, first, last) } or {}
  end,
}

--- The lines that were selected last in this buffer; 0 where none were.
---@return integer first
---@return integer last
function M.selection() return vim.fn.getpos("'<")[2], vim.fn.getpos("'>")[2] end

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

--- The attachments that a message names with `@`. A word that is neither known nor a file is left alone.
---@return table[] attachments
function M.named(message, buf)
  local all = {}
  for word in (' ' .. message):gmatch('%s@(%S+)') do
    local path = word:gsub('[,;:.?!)]+$', '')
    local is_file = vim.fn.filereadable(path) == 1
    local file = is_file and { { uri = vim.uri_from_fname(vim.fn.fnamemodify(path, ':p')) } } or {}
    vim.list_extend(all, words[path] and words[path](buf) or file)
  end
  return all
end

--- Completes a word that begins with `@`.
function M.complete(lead)
  if lead:sub(1, 1) ~= '@' then return {} end
  local files = vim.fn.getcompletion(lead:sub(2), 'file')
  return vim.tbl_map(function(word) return '@' .. word end, vim.list_extend(vim.tbl_keys(words), files))
end

--- An attachment as a part of a message, for a turn that runs already and takes text alone.
function M.as_text(item)
  local name, text, range = item.uri, item.text, item.range
  if not vim.startswith(name, 'untitled:') then name = vim.uri_to_fname(name) end
  if range then
    local buf = vim.uri_to_bufnr(item.uri)
    text = table.concat(vim.api.nvim_buf_get_lines(buf, range.start.line, range['end'].line + 1, false), '\n')
    name = ('%s, from line %d'):format(name, range.start.line + 1)
  end
  return text and ('\n\n%s:\n\n%s'):format(name, text) or '\n\n' .. name
end

return M

--- What goes along with a message: a range of a buffer, and what `@` names in it.
local M = {}

--- Words after `@` that are no path, and what each attaches.
---@type table<string, fun(context: { buf: integer }): table[]>
local words = {
  buffers = function()
    local all = {}
    for _, info in ipairs(vim.fn.getbufinfo({ buflisted = 1, bufloaded = 1 })) do
      if info.name ~= '' and vim.bo[info.bufnr].buftype == '' then
        all[#all + 1] = { uri = vim.uri_from_bufnr(info.bufnr) }
      end
    end
    return all
  end,
  diagnostics = function(context)
    return M.diagnostics(context.buf)
  end,
  selection = function(context)
    local first, last = vim.fn.getpos("'<")[2], vim.fn.getpos("'>")[2]
    return first > 0 and { M.range(context.buf, first, last) } or {}
  end,
}

--- Lines of a buffer. The text of one without a file goes along as it is.
---@param buf integer
---@param first integer 1 and up
---@param last integer
---@return table attachment
function M.range(buf, first, last)
  local lines = vim.api.nvim_buf_get_lines(buf, first - 1, last, false)
  local name = vim.api.nvim_buf_get_name(buf)
  if name == '' or vim.bo[buf].buftype ~= '' then
    return { uri = 'untitled:' .. (name ~= '' and vim.fs.basename(name) or 'buffer'), text = table.concat(lines, '\n') }
  end
  return {
    uri = vim.uri_from_bufnr(buf),
    range = {
      start = { line = first - 1, character = 0 },
      ['end'] = { line = last - 1, character = #(lines[#lines] or '') },
    },
  }
end

--- The diagnostics of a buffer, or of some lines, as text.
---@param buf integer
---@param first? integer
---@param last? integer
---@return table[] attachments
function M.diagnostics(buf, first, last)
  local found = {}
  for _, item in ipairs(vim.diagnostic.get(buf)) do
    if not first or item.lnum + 1 >= first and item.lnum + 1 <= last then
      found[#found + 1] = M.diagnostic(item)
    end
  end
  return #found > 0 and { { uri = 'untitled:diagnostics', text = table.concat(found, '\n') } } or {}
end

---@param item vim.Diagnostic
---@return string
function M.diagnostic(item)
  local path = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(item.bufnr), ':.')
  local severity = (vim.diagnostic.severity[item.severity] or 'error'):lower()
  local source = item.source and (' (%s)'):format(item.source) or ''
  return ('%s:%d:%d: %s: %s%s'):format(path, item.lnum + 1, item.col + 1, severity, item.message, source)
end

--- What a message names with `@`. A word that is neither known nor a file is only a word.
---@param message string
---@param buf integer
---@return table[] attachments
function M.named(message, buf)
  local all = {}
  for word in (' ' .. message):gmatch('%s@(%S+)') do
    local path = word:gsub('[,;:.?!)]+$', '')
    if words[path] then
      vim.list_extend(all, words[path]({ buf = buf }))
    elseif vim.fn.filereadable(path) == 1 then
      all[#all + 1] = { uri = vim.uri_from_fname(vim.fn.fnamemodify(path, ':p')) }
    end
  end
  return all
end

--- Completes a word that begins with `@`.
---@param lead string
---@return string[]
function M.complete(lead)
  local start = lead:sub(2)
  local found = vim.tbl_filter(function(word)
    return vim.startswith(word, start)
  end, vim.tbl_keys(words))
  table.sort(found)
  vim.list_extend(found, vim.fn.getcompletion(start, 'file'))
  return vim.tbl_map(function(word)
    return '@' .. word
  end, found)
end

--- Attachments as a part of a message, for a turn that runs already and takes text alone.
---@param attachments? table[]
---@return string
function M.as_text(attachments)
  local parts = {}
  for _, item in ipairs(attachments or {}) do
    local text = item.text
    if item.range then
      local buf = vim.uri_to_bufnr(item.uri)
      text =
        table.concat(vim.api.nvim_buf_get_lines(buf, item.range.start.line, item.range['end'].line + 1, false), '\n')
    end
    local name = item.range and ('%s, from line %d'):format(vim.uri_to_fname(item.uri), item.range.start.line + 1)
    parts[#parts + 1] = text and ('\n\n%s:\n\n%s'):format(name or item.uri, text)
      or '\n\n' .. vim.uri_to_fname(item.uri)
  end
  return table.concat(parts)
end

return M

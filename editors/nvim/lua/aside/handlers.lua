--- Messages of the server. What is about turns and prompts goes to those; changing and saving files is done here.
local client = require('aside.client')
local log = require('aside.log')

local M = {}

--- Makes edits whose carriage returns are characters of the buffer's lines, which Neovim's own function takes for line
--- ends. Positions are of the text before.
local function with_returns(edits, buf, encoding)
  local function column(at)
    local line = vim.api.nvim_buf_get_lines(buf, at.line, at.line + 1, false)[1] or ''
    if encoding == 'utf-8' then return math.min(at.character, #line) end
    if vim.fn.has('nvim-0.11') == 1 then return vim.str_byteindex(line, encoding, at.character, false) end
    return vim.str_byteindex(line, at.character, true) ---@diagnostic disable-line: param-type-mismatch
  end
  for edit in vim.iter(edits):rev() do
    local from, to, text = edit.range.start, edit.range['end'], vim.split(edit.newText, '\n', { plain = true })
    local count = vim.api.nvim_buf_line_count(buf)
    -- The place behind the last line end is none in a buffer.
    local behind = to.line >= count
    if behind and text[#text] == '' then table.remove(text) end
    if from.line >= count then
      vim.api.nvim_buf_set_lines(buf, count, count, false, text)
    elseif behind and from.character == 0 then
      vim.api.nvim_buf_set_lines(buf, from.line, count, false, text)
    elseif behind then
      local last = vim.api.nvim_buf_get_lines(buf, count - 1, count, false)[1]
      vim.api.nvim_buf_set_text(buf, from.line, column(from), count - 1, #last, text)
    else
      vim.api.nvim_buf_set_text(buf, from.line, column(from), to.line, column(to), text)
    end
  end
end

M['workspace/applyEdit'] = function(_, params, context)
  local edit = params.edit.documentChanges[1]
  local buf, version = client.buffer(edit.textDocument.uri), edit.textDocument.version
  local why = not buf and 'it is not open'
    or version and version ~= vim.lsp.util.buf_versions[buf] and 'it was changed meanwhile'
    or not vim.bo[buf].modifiable and "'modifiable' is off" ---@diagnostic disable-line: undefined-field
  if why then return { applied = false, failureReason = why } end
  -- The edit is one step of undo, also while the person types in the buffer: setting the option ends a step.
  vim.bo[buf].undolevels = vim.bo[buf].undolevels
  local encoding = vim.lsp.get_client_by_id(context.client_id).offset_encoding
  if vim.bo[buf].fileformat == 'dos' then
    for _, one in ipairs(edit.edits) do
      one.newText = one.newText:gsub('\r\n', '\n')
    end
  end
  local returns = vim.iter(edit.edits):any(function(one) return one.newText:find('\r') ~= nil end)
  local way = returns and with_returns or vim.lsp.util.apply_text_edits
  local function apply() way(edit.edits, buf, encoding) end
  require('aside.review').around(buf, function() require('aside.changes').around(buf, apply) end)
  vim.bo[buf].undolevels = vim.bo[buf].undolevels
  return { applied = true }
end

--- Whether the file of a buffer is not as the buffer last read or wrote it. Found out without the question that
--- Neovim itself would ask.
local function changed_on_disk(buf)
  local changed = false
  local function note()
    changed, vim.v.fcs_choice = true, ''
  end
  local watch = vim.api.nvim_create_autocmd('FileChangedShell', { buffer = buf, callback = note })
  vim.cmd.checktime({ args = { tostring(buf) }, mods = { silent = true } })
  vim.api.nvim_del_autocmd(watch)
  return changed
end

--- Whether the encoding of a buffer's file lacks a letter of the buffer. Neovim would write another one in its place.
local function lacks_a_letter(buf)
  local encoding = vim.bo[buf].fileencoding
  if encoding == '' or encoding:find('^utf') or encoding:find('^ucs') then return false end
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n')
  local there = vim.iconv(text, 'utf-8', encoding)
  local back = there and vim.iconv(there, encoding, 'utf-8')
  return back ~= nil and back ~= text
end

--- Writes a buffer, and asks nothing. Gives back why it could not be written.
local function save(buf)
  local confirm, fix = vim.o.confirm, vim.bo[buf].fixendofline
  -- A last line without an end keeps having none, since nobody named it.
  vim.o.confirm, vim.bo[buf].fixendofline = false, false
  local ok, failure = pcall(vim.api.nvim_buf_call, buf, function() vim.cmd('silent update') end)
  vim.o.confirm, vim.bo[buf].fixendofline = confirm, fix
  if not ok then return vim.split(tostring(failure), '\n')[1] end
  -- Not every failure is an error, as where a plugin does not let it be written.
  return vim.bo[buf].modified and 'it was not written' or nil
end

M['aside/document/save'] = function(_, params)
  local buf = client.buffer(params.uri)
  local why = not buf and 'it is not open'
    or vim.bo[buf].readonly and "'readonly' is set"
    or lacks_a_letter(buf) and ('%s lacks a letter of it'):format(vim.bo[buf].fileencoding)
    or changed_on_disk(buf) and 'the file was changed by another program'
    or save(buf)
  if why then log.fail(('%s is changed and not saved: %s'):format(vim.fs.basename(params.uri), why)) end
  return not why and vim.empty_dict() or nil, why and { code = -32603, message = why } or nil
end

M['aside/status'] = function(_, params)
  client.status = params
  -- The title of a pane names the model.
  vim.iter(require('aside.view').all()):each(function(view) view:redraw() end)
  client.emit('AsideStatus', params)
end

M['aside/prompt'] = function(_, params) return require('aside.prompt').arrive(params) end
M['aside/prompt/dismiss'] = function(_, params) require('aside.prompt').dismiss(params.promptId) end
M['aside/turn/update'] = function(_, params) require('aside.turn').update(params) end
M['aside/turn/completed'] = function(_, params) require('aside.turn').complete(params) end
M['aside/conversation/changed'] = function() end
M['aside/tool/call'] = function(_, params) return require('aside.tools').call(params) end

--- A message of the server never stands in the way of typing.
M['window/showMessage'] = function(_, params)
  log.say(params.message, params.type == 1 and 'ErrorMsg' or params.type == 2 and 'WarningMsg' or nil)
end

--- A list of actions does not stand in the way either. The reply chooses none of them.
M['window/showMessageRequest'] = function(context, params)
  M['window/showMessage'](context, params)
  return vim.NIL
end

return M

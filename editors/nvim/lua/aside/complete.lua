--- Completion of a message: what goes along, by `@`, and commands, by `/` at its beginning. An omnifunc, and sources for
--- blink.cmp and nvim-cmp.
local attachments = require('aside.attachments')
local config = require('aside.config')

local M = {}

---@class aside.Word
---@field word string
---@field what string

--- What a word can become.
---@param lead string
---@param begins boolean whether the message begins with it
---@return aside.Word[]
local function words(lead, begins)
  local all = attachments.words(lead)
  if begins and lead:sub(1, 1) == '/' then all = require('aside.command').slashes() end
  return vim.tbl_filter(function(item) return vim.startswith(item.word, lead) end, all)
end

--- The word that ends in a column, where it is one that can be completed.
---@param line string up to the cursor
---@return integer? start bytes before it
---@return string lead
local function word_before(line)
  local before, lead = line:match('^(.-)([@/]%S*)$')
  if not lead or before ~= '' and not before:find('%s$') then return nil, '' end
  return #before, lead
end

---@param find 0|1
---@param base string
---@return integer|table[]
function M.omnifunc(find, base)
  if find == 1 then return (word_before(vim.api.nvim_get_current_line():sub(1, vim.fn.col('.') - 1))) or -3 end
  local begins = vim.fn.line('.') == 1 and vim.fn.col('.') == 1
  return vim.tbl_map(function(item) return { word = item.word, menu = item.what } end, words(base, begins))
end

--- The words at the cursor, as items of LSP.
---@param line string up to the cursor
---@param row integer from 0
local function items(line, row)
  local start, lead = word_before(line)
  if not start then return {} end
  local range = { start = { line = row, character = start }, ['end'] = { line = row, character = #line } }
  return vim.tbl_map(
    function(item)
      return {
        label = item.word,
        labelDetails = { description = item.what },
        kind = vim.lsp.protocol.CompletionItemKind.Reference,
        textEdit = { newText = item.word, range = range },
      }
    end,
    words(lead, row == 0 and start == 0)
  )
end

local TRIGGERS = { '@', '/' }

--- The source for blink.cmp: `{ name = 'Aside', module = 'aside.complete' }`.
function M.new() return setmetatable({}, { __index = M }) end

function M.enabled() return vim.bo.filetype == 'aside-message' end

function M.get_trigger_characters() return TRIGGERS end

---@param context { line: string, cursor: integer[] }
function M.get_completions(_, context, done)
  local line = context.line:sub(1, context.cursor[2])
  done({ items = items(line, context.cursor[1] - 1), is_incomplete_forward = true, is_incomplete_backward = true })
end

--- The source for nvim-cmp: `require('cmp').register_source('aside', require('aside.complete').cmp)`.
M.cmp = {
  is_available = M.enabled,
  get_trigger_characters = M.get_trigger_characters,
  get_keyword_pattern = function() return [=[[@/]\S*]=] end,
  complete = function(_, params, done)
    done({ items = items(params.context.cursor_before_line, params.context.cursor.row - 1), isIncomplete = true })
  end,
}

--- The key that completes in insert mode: where there is nothing to complete it is what it is elsewhere.
function M.map(buf)
  local key = config.get().keys.complete
  if not key then return end
  vim.keymap.set('i', key, function()
    local line = vim.api.nvim_get_current_line():sub(1, vim.fn.col('.') - 1)
    local keys = vim.fn.pumvisible() == 1 and '<C-n>' or word_before(line) and '<C-x><C-o>' or key
    vim.api.nvim_feedkeys(vim.keycode(keys), 'in', false)
  end, { buffer = buf, desc = 'Aside: complete' })
end

return M

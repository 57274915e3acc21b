--- Differences of two texts, as they are shown and as they are decided.
local M = {}

local diff = vim.text and vim.text.diff or vim.diff

---@class aside.Hunk
---@field first integer the first old line that is replaced; where none is, the one before which lines are added
---@field removed string[]
---@field added string[]
---@field take? boolean what the person decided

--- Where two texts differ: line and count in the old one, line and count in the new one.
---@param old string
---@param new string
---@return integer[][]
local function indices(old, new)
  return diff(old, new, { result_type = 'indices', algorithm = 'histogram' }) --[[@as integer[][] ]]
end

--- The lines of a text, and whether it ends with a line break.
---@param text string
---@return string[] lines
---@return boolean ends
local function split(text)
  local lines = vim.split(text, '\n', { plain = true })
  local ends = lines[#lines] == ''
  if ends then table.remove(lines) end
  return lines, ends
end

---@param old string
---@param new string
---@return aside.Hunk[]
---@return string[] lines the old ones
function M.hunks(old, new)
  local before, after = split(old), split(new)
  return vim.tbl_map(function(at)
    local from, removed, to, added = unpack(at)
    return {
      first = removed == 0 and from + 1 or from,
      removed = vim.list_slice(before, from, from + removed - 1),
      added = vim.list_slice(after, to, to + added - 1),
    }
  end, indices(old, new)),
    before
end

--- The old text with those hunks that were taken.
---@param old string
---@param new string
---@param hunks aside.Hunk[]
---@return string
function M.compose(old, new, hunks)
  local before, ends = split(old)
  local out, at = {}, 1
  for _, hunk in ipairs(hunks) do
    vim.list_extend(out, before, at, hunk.first - 1)
    vim.list_extend(out, hunk.take and hunk.added or hunk.removed)
    at = hunk.first + #hunk.removed
    -- Who takes the last lines takes their end.
    if hunk.take and at > #before then ends = select(2, split(new)) end
  end
  vim.list_extend(out, before, at)
  return table.concat(out, '\n') .. (ends and #out > 0 and '\n' or '')
end

--- Words, and each character that is none, a line each.
local function words(line)
  local all = {}
  for word, other in line:gmatch('([%w_\128-\255]*)([^%w_\128-\255]?)') do
    all[#all + 1] = word ~= '' and word or nil
    all[#all + 1] = other ~= '' and other or nil
  end
  return all
end

--- The parts of two lines that differ, as byte ranges: of the old line, and of the new one.
---@param old string
---@param new string
---@return integer[][] in_old
---@return integer[][] in_new
function M.inside(old, new)
  local a, b = words(old), words(new)
  local in_old, in_new = {}, {}
  local function place(list, from, count, into)
    local start = #table.concat(list, '', 1, from - 1)
    if count > 0 then into[#into + 1] = { start, start + #table.concat(list, '', from, from + count - 1) } end
  end
  for _, at in ipairs(indices(table.concat(a, '\n') .. '\n', table.concat(b, '\n') .. '\n')) do
    place(a, at[1], at[2], in_old)
    place(b, at[3], at[4], in_new)
  end
  return in_old, in_new
end

return M

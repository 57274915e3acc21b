--- Differences of two texts, as they are shown and as they are decided.
local M = {}

local diff = vim.text and vim.text.diff or vim.diff

---@class aside.Hunk
---@field first integer the first old line that is replaced; where none is, the one before which lines are added
---@field removed string[]
---@field added string[]
---@field take? boolean what the person decided

--- Differences of two texts: line and count in the old one, line and count in the new one.
---@return integer[][]
local function indices(old, new)
  return diff(old, new, { result_type = 'indices', algorithm = 'histogram' }) --[[@as integer[][] ]]
end

--- The lines of a text, and whether it ends with a line break.
---@return string[] lines
---@return boolean ends
function M.lines(text)
  local lines = vim.split(text, '\n', { plain = true })
  local ends = lines[#lines] == ''
  if ends then table.remove(lines) end
  return lines, ends
end

---@return aside.Hunk[]
function M.hunks(old, new)
  local before, after = M.lines(old), M.lines(new)
  return vim.tbl_map(function(at)
    local from, removed, to, added = unpack(at)
    return {
      first = removed == 0 and from + 1 or from,
      removed = vim.list_slice(before, from, from + removed - 1),
      added = vim.list_slice(after, to, to + added - 1),
    }
  end, indices(old, new))
end

--- The old lines, with others in the place of each hunk.
---@param hunks aside.Hunk[]
---@param lines_of fun(hunk: aside.Hunk): string[]
---@return string[]
function M.weave(old, hunks, lines_of)
  local before, out, at = M.lines(old), {}, 1
  for _, hunk in ipairs(hunks) do
    vim.list_extend(out, before, at, hunk.first - 1)
    vim.list_extend(out, lines_of(hunk))
    at = hunk.first + #hunk.removed
  end
  return vim.list_extend(out, before, at)
end

--- The old text with those hunks that were taken. Who takes the last lines takes their end.
---@param hunks aside.Hunk[]
---@return string
function M.compose(old, new, hunks)
  local before, ends = M.lines(old)
  local last = hunks[#hunks]
  if last and last.take and last.first + #last.removed > #before then ends = select(2, M.lines(new)) end
  local out = M.weave(old, hunks, function(hunk) return hunk.take and hunk.added or hunk.removed end)
  return table.concat(out, '\n') .. (ends and #out > 0 and '\n' or '')
end

--- Whether two changes of a text touch the same lines, or add lines at the same place.
local function collide(one, other)
  local first, last, from, to = one.first, one.first + #one.removed, other.first, other.first + #other.removed
  if first == last and from == to then return first == from end
  return first < to and from < last
end

--- The same hunks in a text that was changed since, without those whose lines were changed.
---@param hunks aside.Hunk[] of the old text
---@return aside.Hunk[] moved
---@return aside.Hunk[] kept those of the old text that are left
function M.move_some(old, now, hunks)
  local moved, kept, others = {}, {}, M.hunks(old, now)
  for _, hunk in ipairs(hunks) do
    local first, gone = hunk.first, false
    for _, other in ipairs(others) do
      gone = gone or collide(hunk, other)
      if other.first + #other.removed <= hunk.first then first = first + #other.added - #other.removed end
    end
    if not gone then
      moved[#moved + 1] = { first = first, removed = hunk.removed, added = hunk.added }
      kept[#kept + 1] = hunk
    end
  end
  return moved, kept
end

--- The same hunks in a text that was changed since; none where the change is of the same lines.
---@param hunks aside.Hunk[] of the old text
---@return aside.Hunk[]?
function M.move(old, now, hunks)
  local moved = M.move_some(old, now, hunks)
  return #moved == #hunks and moved or nil
end

--- The text before a change, of which the text after it and a unified diff are known; nil where they do not fit.
---@param now string
---@param unified string
---@return string?
function M.before(now, unified)
  local lines, ends = M.lines(now)
  local out, at, sign = {}, 1, nil
  local open = false -- whether the old text ends without a line break
  local function copy(to)
    vim.list_extend(out, lines, at, to - 1)
    at = to
  end
  for _, line in ipairs((M.lines(unified))) do
    local first, count = line:match('^@@ %-[%d,]+ %+(%d+),?(%d*) @@')
    local before = sign
    -- What stands before the first part is a header.
    sign = first and '@' or sign and line:sub(1, 1)
    if first then
      copy(tonumber(first) + (count == '0' and 1 or 0))
    elseif sign == '\\' then
      open = open or before ~= '+'
    elseif sign == ' ' or sign == '+' then
      if lines[at] ~= line:sub(2) then return nil end
      at = at + 1
    end
    if sign == ' ' or sign == '-' then out[#out + 1] = line:sub(2) end
  end
  copy(#lines + 1)
  if #out == 0 then return '' end
  local whole = ends or unified:find('\n\\', 1, true) ~= nil
  return table.concat(out, '\n') .. (whole and not open and '\n' or '')
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

--- The parts of a line that another one has not, as byte ranges.
---@return integer[][]
function M.inside(line, other)
  local mine, theirs, ranges = words(line), words(other), {}
  for _, at in ipairs(indices(table.concat(theirs, '\n') .. '\n', table.concat(mine, '\n') .. '\n')) do
    local start = #table.concat(mine, '', 1, at[3] - 1)
    if at[4] > 0 then ranges[#ranges + 1] = { start, start + #table.concat(mine, '', at[3], at[3] + at[4] - 1) } end
  end
  return ranges
end

return M

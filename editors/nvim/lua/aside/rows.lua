--- Text as rows of the screen, and the screen as text.
local M = {}

---@class aside.Row
---@field text string
---@field chunks [string, string|string[]][] its parts, each with its highlights

--- A text as Vim's functions take it, which have a line break for a NUL, and take a text with one for a blob.
---@param text string
---@return string
local function of_vim(text) return (text:gsub('%z', '\n')) end

--- The cells that a text takes.
---@param text string
---@return integer
function M.width(text) return vim.fn.strdisplaywidth(of_vim(text)) end

--- A line as rows of at most so many cells, with tabs as blanks and invisible characters made visible.
---@param line string
---@param width integer
---@param tabstop integer
---@param highlight string of the line
---@param ranges? integer[][] byte ranges that differ, which have another highlight as well
---@return aside.Row[]
function M.of(line, width, tabstop, highlight, ranges)
  if not ranges and #line <= width and not line:find('[^\32-\126]') then
    return { { text = line, chunks = { { line, highlight } } } }
  end
  local rows, parts, column, used, byte, range = {}, {}, 0, 0, 0, 1
  ranges = ranges or {}
  local function put(text, cells, differs)
    if used + cells > width and used > 0 then
      rows[#rows + 1], parts, used = parts, {}, 0
    end
    local last = parts[#parts]
    if last and last.differs == differs then
      last.text = last.text .. text
    else
      parts[#parts + 1] = { text = text, differs = differs }
    end
    used, column = used + cells, column + cells
  end
  for _, character in ipairs(vim.fn.split(of_vim(line), '\\zs')) do
    while ranges[range] and ranges[range][2] <= byte do
      range = range + 1
    end
    local differs = ranges[range] ~= nil and ranges[range][1] <= byte
    if character == '\t' then
      for _ = 1, tabstop - column % tabstop do
        put(' ', 1, differs)
      end
    else
      local shown = vim.fn.strtrans(character)
      put(shown, vim.fn.strdisplaywidth(shown), differs)
    end
    byte = byte + #character
  end
  rows[#rows + 1] = parts
  return vim.tbl_map(function(each)
    local row = { text = '', chunks = {} }
    for _, part in ipairs(each) do
      row.text = row.text .. part.text
      row.chunks[#row.chunks + 1] = { part.text, part.differs and { highlight, 'AsideWord' } or highlight }
    end
    return row
  end, rows)
end

--- Words in rows of at most so many cells.
---@param text string
---@param width integer
---@return string[]
function M.words(text, width)
  local rows = {}
  for word in text:gmatch('%S+') do
    local last = rows[#rows]
    local longer = last and last .. ' ' .. word
    if longer and M.width(longer) <= width then
      rows[#rows] = longer
    else
      for _, row in ipairs(M.of(word, width, 1, 'AsideHeader')) do
        rows[#rows + 1] = row.text
      end
    end
  end
  return rows
end

--- Keys and what they do in rows of at most so many cells, each with its word beside it.
---@param text string as `aside.config` makes it
---@param width integer
---@return string[]
function M.hints(text, width)
  local joined = text:gsub(' ', '\194\160'):gsub('\194\160·\194\160', ' · ')
  return vim.tbl_map(function(row) return (row:gsub('\194\160', ' ')) end, M.words(joined, width))
end

--- A row as it can be compared: Arabic letters are drawn in other forms, and two of them may share a cell.
---@param row string
---@return string
local function plain(row)
  return (row:gsub('[\216-\219][\128-\191]', ''):gsub('\239[\172-\187][\128-\191]', ''):gsub('%s+$', ''))
end

--- Where the first cell of a window is, within its border.
---@return integer row
---@return integer column
function M.corner(win)
  local at, border = vim.fn.win_screenpos(win), vim.api.nvim_win_get_config(win).border
  local inside = border and border ~= 'none' and 1 or 0
  return at[1] + inside, at[2] + inside
end

--- What is on the screen where a window is, whatever covers it.
---@param win integer
---@return string[] rows from its first
function M.on_screen(win)
  local top, left = M.corner(win)
  local rows = {}
  for row = top, top + vim.api.nvim_win_get_height(win) - 1 do
    local cells = {}
    for column = left, left + vim.api.nvim_win_get_width(win) - 1 do
      cells[#cells + 1] = vim.fn.screenstring(row, column)
    end
    rows[#rows + 1] = plain(table.concat(cells))
  end
  return rows
end

--- Where rows stand one below the other.
---@param rows string[] of the screen
---@param wanted string[]
---@param first integer the first place to look at
---@param last? integer the last row that may be one of them
---@return integer?
function M.find(rows, wanted, first, last)
  for at = first, (last or #rows) - #wanted + 1 do
    local same = true
    for number, text in ipairs(wanted) do
      same = same and rows[at + number - 1] == plain(text)
    end
    if same then return at end
  end
end

return M

--- The rows of the screen as Neovim has drawn them, cell by cell.
---@return string[]
return function()
  local rows = {}
  for row = 1, vim.o.lines do
    local cells = {}
    for column = 1, vim.o.columns do
      cells[column] = vim.fn.screenstring(row, column)
    end
    rows[row] = table.concat(cells)
  end
  return rows
end

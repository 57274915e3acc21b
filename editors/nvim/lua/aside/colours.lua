--- Highlight groups, each a link that a colour scheme or the user may change.
local M = {}

M.links = {
  AsideAdd = 'DiffAdd',
  AsideDelete = 'DiffDelete',
  AsideWord = 'DiffText',
  AsideHeader = 'Comment',
  AsideSign = 'DiagnosticSignWarn',
  AsideWaiting = 'DiagnosticWarn',
  AsideRunning = 'DiagnosticInfo',
}

function M.define()
  for name, link in pairs(M.links) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

return M

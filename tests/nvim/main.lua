--- Runs specifications in a Neovim on a terminal: nvim --clean -n -l main.lua SPEC…, with ASIDE and ASKING set.
--- ONLY=TEXT runs those whose name has it.
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local result = vim.env.ASIDE_SPEC_RESULT

--- Starts the Neovim that has a screen, and prints what it found.
local function start()
  result = vim.fn.tempname()
  local files = vim.tbl_map(function(file) return vim.fn.fnamemodify(file, ':p') end, arg)
  local env = { ASIDE_SPEC_RESULT = result, ASIDE_SPECS = table.concat(files, '\n'), TERM = 'xterm-256color' }
  local command = { vim.v.progpath, '--clean', '-n', '-u', here .. '/main.lua' }
  local job = vim.fn.jobstart(command, { pty = true, width = 80, height = 24, env = env, on_stdout = function() end })
  vim.fn.jobwait({ job }, 300000)
  vim.fn.jobstop(job)
  local printed = vim.fn.filereadable(result) == 1 and vim.fn.readfile(result) or {}
  if #printed == 0 or not printed[#printed]:find('^%d+ passed') then
    vim.list_extend(printed, { 'FAILED Neovim ended, or hangs, after what is above', '0 passed, 1 failed' })
  end
  io.stdout:write(table.concat(printed, '\n') .. '\n')
  os.exit(printed[#printed]:find(' 0 failed$') and 0 or 1)
end

if not result then start() end
vim.env.ASIDE_SPEC_RESULT = nil
package.path = here .. '/?.lua;' .. package.path

local function run()
  local harness = require('harness')
  harness.only = vim.env.ONLY
  harness.begin(assert(io.open(result, 'w')))
  for file in vim.gsplit(vim.env.ASIDE_SPECS, '\n') do
    local ok, why = xpcall(dofile, debug.traceback, file)
    if not ok then harness.print(('FAILED %s: %s\n'):format(file, why)) end
  end
  harness.print(('%d passed, %d failed\n'):format(harness.passed, harness.failed))
  -- What runs is ended by Neovim as it leaves.
  vim.cmd('qall!')
end

vim.api.nvim_create_autocmd('VimEnter', { once = true, nested = true, callback = vim.schedule_wrap(run) })

--- Runs specifications in this Neovim: nvim --clean -n -l main.lua SPEC…, with ASIDE and ASKING set.
--- ONLY=TEXT runs those whose name has it.
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
package.path = here .. '/?.lua;' .. package.path
local harness = require('harness')
harness.only = vim.env.ONLY
harness.begin()
for at = 1, #arg do
  dofile(arg[at])
end
io.stdout:write(('%d passed, %d failed\n'):format(harness.passed, harness.failed))
-- What runs is ended by Neovim as it leaves.
os.exit(harness.failed == 0 and 0 or 1)

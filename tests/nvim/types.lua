--- Checks the annotations of the plugin with a language server for Lua: nvim --clean -n -l types.lua SERVER
--- Prints each finding, and `N passed, N failed`, where a file passes or fails.
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local plugin = vim.fs.dirname(vim.fs.dirname(here)) .. '/editors/nvim'
local server = assert(arg[1], 'which server?')

local settings = {
  runtime = { version = 'LuaJIT' },
  workspace = { library = { vim.env.VIMRUNTIME .. '/lua' } },
  strict = { arrayIndex = false },
  diagnostics = {
    -- Not about types, or wrong about `vim.iter`, coroutines, lists that grow and what a callback sets.
    disable = {
      'await-in-sync',
      'call-non-callable',
      'inject-field',
      'need-check-nil',
      'redefined-local',
      'redundant-parameter',
      'unnecessary-if',
    },
  },
}
local folder = vim.fn.tempname()
vim.fn.mkdir(folder, 'p')
vim.fn.writefile({ vim.json.encode(settings) }, folder .. '/.emmyrc.json')
vim.fn.writefile({ '---@meta', '---@class uv.uv_timer_t: { start: function, close: function }' }, folder .. '/uv.lua')
-- The server reads its settings beside the code, and the plugin keeps no file for it.
vim.uv.fs_symlink(plugin .. '/lua', folder .. '/lua')

local id = assert(vim.lsp.start({
  name = 'types',
  cmd = { server, '--log-level', 'error' },
  root_dir = folder,
}, { attach = false }))
local client = assert(vim.lsp.get_client_by_id(id))
assert(vim.wait(60000, function() return client.initialized end, 20), 'it does not start')

--- Whether a finding is one that LuaLS does not have: nil is let through where something may be missing, a number where
--- a whole one is wanted, and a string where one of several is. What Neovim has of libuv is described nowhere in it.
local function is_strict(message)
  local field = message:match('^Undefined field `(.-)`')
  if field then return vim.uv[field] ~= nil end
  local wanted, got = message:match('expected `(.-)` but found `%(?(.-)%)?%??`%.')
  if not wanted then return false end
  return wanted:find(got, 1, true) or got == 'number' and wanted:find('integer') or got == 'string' and wanted:find('"')
end

local passed, failed = 0, 0
for path in vim.fs.dir(plugin .. '/lua', { depth = 3 }) do
  if vim.endswith(path, '.lua') then
    local name = folder .. '/lua/' .. path
    local uri = vim.uri_from_fname(name)
    local text = table.concat(vim.fn.readfile(name), '\n') .. '\n'
    local document = { uri = uri, languageId = 'lua', version = 0, text = text }
    client:notify('textDocument/didOpen', { textDocument = document })
    local result
    -- While it still reads Neovim's own files, it may refuse to answer.
    vim.wait(120000, function()
      local answer = client:request_sync('textDocument/diagnostic', { textDocument = { uri = uri } }, 60000)
      result = answer and answer.result
      return result ~= nil
    end, 100)
    local items = vim.tbl_filter(
      function(item) return not is_strict(item.message) end,
      assert(result, 'it does not answer').items
    )
    for _, item in ipairs(items) do
      local at = item.range.start
      print(('%s:%d:%d: %s [%s]'):format(path, at.line + 1, at.character + 1, item.message, item.code))
    end
    passed, failed = passed + (#items == 0 and 1 or 0), failed + (#items > 0 and 1 or 0)
  end
end
io.stdout:write(('\n%d passed, %d failed\n'):format(passed, failed))
os.exit(failed == 0 and 0 or 1)

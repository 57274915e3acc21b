local T = require('harness')
local test = T.test

--- Two edits, while the person types in another line: none of them fails, all that was typed is there, and
--- it stays where they are undone.
---@param pause integer milliseconds between two keys
local function types_while(pause)
  test(('two edits of a file in which the person types elsewhere, each %d ms'):format(pause), {
    files = { ['a.txt'] = 'one\ntwo\nthree\n\nfive\nsix\nseven\n' },
    config = { settings = { conversation = { mode = 'edits' } } },
    script = [=[
[[reply]]
when = { step = 1 }
say = [{ call = "read_file", arguments = { path = "a.txt" } }]
[[reply]]
when = { step = 2 }
delay_ms = 60
say = [
  { call = "edit_file", arguments = { path = "a.txt", old_text = "two", new_text = "2\nand more" } },
  { call = "edit_file", arguments = { path = "a.txt", old_text = "six", new_text = "6" } },
]
[[reply]]
delay_ms = 60
say = [{ text = "Done." }]
]=],
  }, function()
    vim.cmd.edit('a.txt')
    local mark = vim.api.nvim_buf_set_extmark(0, vim.api.nvim_create_namespace('typed'), 3, 0, {})
    local buf, count = vim.api.nvim_get_current_buf(), 0
    local timer = assert(vim.uv.new_timer())
    local function key()
      if timer:is_closing() then return end
      local row = vim.api.nvim_buf_get_extmark_by_id(buf, vim.api.nvim_create_namespace('typed'), mark, {})[1]
      vim.api.nvim_buf_set_text(buf, row, 0, row, 0, { 'x' })
      count = count + 1
    end
    timer:start(0, pause, vim.schedule_wrap(key))
    T.outcomes = {}
    vim.cmd('Aside ask go')
    T.wait('the turn ends', function()
      for _, prompt in ipairs(require('aside.prompt').open()) do
        -- Text that is not saved is the person's own, so it is asked.
        require('aside.prompt').settle(prompt, { action = 'answer', answer = 'once' }, function() end)
      end
      return T.outcomes[1]
    end)
    timer:close()
    T.ended()
    local ends = vim.tbl_filter(function(event) return event.type == 'call_result' end, T.events('call_result'))
    for _, event in ipairs(ends) do
      T.equal(event.status, 'ok')
    end
    T.lacks(table.concat(T.beside(), '\n'), '✗')
    local wanted = ('one\n2\nand more\nthree\n%s\nfive\n6\nseven'):format(('x'):rep(count))
    T.equal(T.buffer('a.txt'), wanted)
    vim.cmd('Aside undo')
    T.says('put back a.txt')
    T.equal(T.buffer('a.txt'), ('one\ntwo\nthree\n%s\nfive\nsix\nseven'):format(('x'):rep(count)))
  end)
end

for _, pause in ipairs({ 7, 30, 100 }) do
  types_while(pause)
end

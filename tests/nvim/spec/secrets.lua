local T = require('harness')
local asked = require('asked')
local test, asks, decisions, answer, writes = T.test, asked.asks, asked.decisions, asked.answer, asked.writes

test('a secret is hidden as it is typed and is in no log, whatever is logged', {
  script = asks([[{ id = "a", text = "Password?", answer_type = { type = "secret" } }]]),
  asking = true,
}, function()
  vim.lsp.log.set_level('trace')
  vim.cmd('Aside ask go')
  answer('hunter2')
  T.ended()
  vim.lsp.log.set_level('warn')
  T.equal(T.shown[1].kind, 'secret')
  T.equal(decisions(), { { action = 'answer', answer = 'hunter2' } })
  local all = { T.text(require('aside.log').path), T.text(vim.lsp.log.get_filename()) }
  T.has(table.concat(all), 'aside/prompt')
  T.lacks(table.concat(all), 'hunter2')
  T.lacks(T.page(), 'hunter2')
end)

for kind, given in pairs({ boolean = 'Yes', text = 'tidy', secret = 'hunter2' }) do
  test('an answer of the type ' .. kind .. ' that comes when its server has ended is asked for again', {
    script = asks(('{ id = "a", text = "What?", answer_type = { type = "%s" } }'):format(kind)):gsub(
      'step = 1 }',
      'step = 1 }\nrepeat = true'
    ),
    asking = true,
  }, function()
    vim.cmd('Aside ask go')
    local before = T.prompts(1)[1]
    local function crash()
      vim.uv.kill(T.server(), 'sigkill')
      T.wait('it waits again', function()
        local now = require('aside.prompt').open()[1]
        return now and now ~= before and now.resumable
      end)
      return given
    end
    if kind == 'text' then
      vim.cmd('Aside answer')
      vim.cmd('stopinsert')
      vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'begun' })
      crash()
      T.wait('its window goes with the question', function() return #vim.api.nvim_list_wins() == 2 end)
    else
      answer(crash)
      T.equal(T.said[#T.said], 'Aside: the server ended meanwhile; :Aside resume asks this again')
    end
    vim.cmd('Aside resume')
    T.wait('it is asked again', function() return not T.prompts(1)[1].resumable end)
    if kind == 'text' then
      vim.cmd('Aside answer')
      vim.cmd('stopinsert')
      T.equal(vim.api.nvim_get_current_line(), 'begun', 'what was written is there')
      writes(given)
    else
      answer(given)
    end
    T.ended()
    T.equal(decisions(), { { action = 'answer', answer = kind == 'boolean' or given } })
    T.has(T.page(), 'Thanks.')
  end)
end

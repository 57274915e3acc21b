--- What is sent is checked against the samples of the protocol: each member has to be in a sample of its method, with
--- the same type.
local M = {}

local harness = require('harness')

local function read(path) return vim.json.decode(table.concat(vim.fn.readfile(path), '\n')) end

--- All samples.
---@return table<string, table>
function M.samples()
  local all = {}
  for name in vim.fs.dir(harness.repository .. '/tests/wire') do
    all[name] = read(harness.repository .. '/tests/wire/' .. name)
  end
  return all
end

--- Ids of samples of a request to the client, to find the responses.
local function by_method()
  local params, results = {}, {}
  local function put(into, method, value)
    into[method] = into[method] or {}
    table.insert(into[method], value)
  end
  for name, sample in pairs(M.samples()) do
    if sample.method then put(params, sample.method, sample.params or {}) end
    if vim.startswith(name, 'answer-') then
      put(results, 'aside/prompt', sample.result)
    elseif name:find('^tool%-call.*result') then
      put(results, 'aside/tool/call', sample.result)
    elseif name == 'document-save-result.json' then
      put(results, 'aside/document/save', sample.result)
    end
  end
  -- An answer in another way is the same object.
  for _, answer in ipairs(results['aside/prompt']) do
    put(params, 'aside/prompt/answer', { promptId = 'p', answer = answer })
  end
  return params, results
end

--- Members whose content is anybody's.
local free = {
  ['params.attachments.uri'] = true,
  ['params.initializationOptions.config'] = true,
  ['params.schema'] = true,
  ['params.settings.aside.config'] = true,
  ['params.capabilities.experimental.aside.tools.inputSchema'] = true,
}

--- What is Aside's own in a message of LSP.
local own = {
  initialize = function(params)
    return {
      capabilities = { experimental = params.capabilities.experimental },
      initializationOptions = params.initializationOptions,
    }
  end,
  ['workspace/didChangeConfiguration'] = function(params) return params end,
}

---@param value any
---@param samples any[]
---@param path string
local function fits(value, samples, path)
  if free[path] then return end
  local kinds = {}
  for _, sample in ipairs(samples) do
    kinds[type(sample)] = true
  end
  if not kinds[type(value)] then
    harness.fail(('%s is a %s; in the samples it is %s'):format(path, type(value), vim.inspect(vim.tbl_keys(kinds))))
  end
  if type(value) ~= 'table' then return end
  if vim.islist(value) and #value > 0 then
    local elements = {}
    for _, sample in ipairs(samples) do
      vim.list_extend(elements, vim.islist(sample) and sample or {})
    end
    for _, element in ipairs(value) do
      fits(element, elements, path)
    end
    return
  end
  for key, member in pairs(value) do
    local members = {}
    for _, sample in ipairs(samples) do
      members[#members + 1] = sample[key]
    end
    if #members == 0 then harness.fail(('%s.%s is in no sample'):format(path, key)) end
    fits(member, members, path .. '.' .. key)
  end
end

--- Fails where a message is none that the protocol knows.
---@param sent { method: string, params?: table, result?: table, error?: table }[]
function M.check(sent)
  local params, results = by_method()
  for _, message in ipairs(sent) do
    local part = own[message.method]
    if part or vim.startswith(message.method, 'aside/') then
      if message.params then
        assert(params[message.method], message.method .. ' is in no sample')
        local mine = part and part(message.params) or message.params
        local ok, why = pcall(fits, mine, params[message.method], 'params')
        assert(ok, ('%s: %s'):format(message.method, why))
      elseif message.result then
        local ok, why = pcall(fits, message.result, results[message.method], 'result')
        assert(ok, ('reply to %s: %s'):format(message.method, why))
      end
    end
  end
end

return M

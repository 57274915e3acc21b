// Aside under the Agent Client Protocol's own SDK.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { FORMS, choose, withClient } from './acp.mjs';

const nobody = (method, params) => assert.fail(`${method} came: ${JSON.stringify(params)}`);
// A person who never answers, until the client is told that nobody waits any more.
const silent = (method, params, signal) => new Promise((resolve) => {
  const cancelled = method === 'form' ? { action: 'cancel' } : { outcome: { outcome: 'cancelled' } };
  signal.addEventListener('abort', () => resolve(cancelled));
});

test('a turn with an edit, a permission and a question', withClient(
  FORMS,
  (method, params) => {
    if (method === 'permission') {
      const [diff] = params.toolCall.content;
      assert.deepEqual([diff.type, diff.newText], ['diff', 'new\n']);
      assert.deepEqual(params.options.map((it) => it.kind), ['allow_once', 'allow_always', 'reject_once']);
      return choose('once');
    }
    assert.ok(params.message.includes('There is more than one.') && params.message.endsWith('Which milk?'));
    assert.deepEqual(params.requestedSchema.required ?? [], []);
    return { action: 'accept', content: { answer: 'oat' } };
  },
  async (client) => {
    assert.equal(client.initialized.agentInfo.name, 'aside');
    const { sessionId } = await client.session();
    assert.deepEqual(await client.prompt(sessionId, 'Write it'), { stopReason: 'end_turn' });
    assert.equal(client.read('new.md'), 'new\n');
    assert.deepEqual(await client.prompt(sessionId, 'Choose one'), { stopReason: 'end_turn' });
    assert.ok(client.said(sessionId).endsWith('Oat it is.'), client.said(sessionId));
    assert.equal(client.asked.length, 2);
  },
));

for (const [outcome, written] of [
  [choose('once'), true], [choose('turn'), true], [choose('no'), false], [choose('none-such'), false],
  [{ outcome: { outcome: 'cancelled' } }, false],
]) {
  test(`a permission: ${JSON.stringify(outcome)}`, withClient({}, () => outcome, async (client) => {
    const { sessionId } = await client.session();
    assert.deepEqual(await client.prompt(sessionId, 'Write it'), { stopReason: 'end_turn' });
    assert.equal(client.has('new.md'), written);
  }));
}

for (const [name, answers, shown, words] of [
  ['an answer', [{ action: 'accept', content: { answer: 'oat' } }], 1, 'Oat it is.'],
  ['an option that is none, then an answer', [{ action: 'accept', content: { answer: 'none' } }, { action: 'accept', content: { answer: 'oat' } }], 2, 'Oat it is.'],
  ['a form that nobody touched', [{ action: 'accept', content: {} }], 3, 'It was not shown.'],
  ['a wrong type', [{ action: 'accept', content: { answer: 7 } }], 3, 'It was not shown.'],
  ['a person who declines', [{ action: 'decline' }], 1, 'Never mind.'],
  ['a person who closes the form', [{ action: 'cancel' }], 1, 'Never mind.'],
]) {
  let count = 0;
  test(`a question: ${name}`, withClient(
    FORMS,
    () => answers[Math.min(count++, answers.length - 1)],
    async (client) => {
      const { sessionId } = await client.session();
      assert.deepEqual(await client.prompt(sessionId, 'Choose one'), { stopReason: 'end_turn' });
      assert.equal(client.said(sessionId), words);
      assert.equal(count, shown);
    },
  ));
}

test('a question that the client cannot show', withClient(
  FORMS,
  () => { throw new Error('no window'); },
  async (client) => {
    const { sessionId } = await client.session();
    await client.prompt(sessionId, 'Explain it');
    assert.equal(client.said(sessionId), 'It was not shown.');
  },
));

test('a client without forms is asked nothing', withClient({}, nobody, async (client) => {
  const { sessionId } = await client.session();
  await client.prompt(sessionId, 'Confirm it');
  assert.equal(client.said(sessionId), 'Nobody is there.');
}));

test('cancel, with something of each kind open', withClient(FORMS, silent, async (client) => {
  for (const text of ['Hang', 'Write it', 'Choose one', 'Print it']) {
    const { sessionId } = await client.session();
    const [before, asked] = [client.updates.length, client.asked.length];
    const ended = client.prompt(sessionId, text);
    const isOpen = () => (text === 'Hang' ? client.said(sessionId) === 'I begin' : client.asked.length > asked);
    while (!isOpen()) await new Promise((resolve) => setImmediate(resolve));
    await client.notify('session/cancel', { sessionId });
    assert.deepEqual(await ended, { stopReason: 'cancelled' });
    assert.ok(client.updates.length >= before);
  }
  assert.ok(!client.has('new.md'));
}));

test('a session with everything in it is loaded as it was, forked, named, listed and deleted', withClient(
  FORMS,
  (method) => (method === 'permission' ? choose('once') : { action: 'accept', content: { answer: 'yes' } }),
  async (client) => {
    const { sessionId } = await client.session();
    for (const text of ['Write it', 'Confirm it', 'Print it']) await client.prompt(sessionId, text);
    const [live, cwd] = [client.updates.length, client.workspace];
    await client.request('session/load', { sessionId, cwd, mcpServers: [] });
    const again = client.updates.slice(live).map((it) => it.update);
    const users = again.filter((it) => it.sessionUpdate === 'user_message_chunk').map((it) => it.content.text);
    assert.deepEqual(users, ['Write it', 'Confirm it', 'Print it']);
    const calls = again.filter((it) => it.sessionUpdate === 'tool_call').map((it) => it.kind);
    assert.deepEqual(calls, ['edit', 'execute']);
    const fork = await client.request('session/fork', { sessionId, cwd, mcpServers: [] });
    await client.request('session/set_title', { sessionId: fork.sessionId, title: 'Another' });
    const listed = await client.request('session/list', { cwd });
    assert.deepEqual(listed.sessions.map((it) => it.title).sort(), ['Another', 'Write it']);
    for (const it of listed.sessions) await client.request('session/delete', { sessionId: it.sessionId });
    assert.deepEqual((await client.request('session/list', { cwd })).sessions, []);
  },
));

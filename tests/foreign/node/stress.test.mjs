// Many prompts and messages at once, from the outside.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { withEditor } from './editor.mjs';

const SEED = Number(process.env.SEED ?? 1);
const CONVERSATIONS = ['a', 'b', 'c', 'd', 'e'];
const COUNT = 50;
const NOTIFICATIONS = 2000;
const UNKNOWN_PROMPT = -32012;

// A random order that is the same for the same seed.
function shuffled(list, seed) {
  let state = seed;
  const random = (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const order = [...list];
  for (let at = order.length - 1; at > 0; at -= 1) {
    const other = random(at + 1);
    [order[at], order[other]] = [order[other], order[at]];
  }
  return order;
}

const answerOf = (promptId) => `The answer to ${promptId}`;
const typed = (answer) => ({ action: 'answer', answer });

function closedIn(editor) {
  const all = CONVERSATIONS.flatMap((turn) => editor.updates(turn, 'question'));
  return all.filter((update) => update.outcome !== undefined);
}

async function transcripts(editor, conversations) {
  const read = (conversationId) => editor.request('aside/conversation/transcript', { conversationId });
  return (await Promise.all(conversations.map(read))).map(({ text }) => text);
}

const options = { script: 'ten.toml', knowsAside: true };

test(`${COUNT} prompts, ${NOTIFICATIONS} notifications, and answers that come twice, late and for nothing, seed ${SEED}`, withEditor(options, async (editor) => {
  editor.keepsDismissed = true;
  editor.open('clean.md');
  const start = (turnId) => editor.request('aside/turn/start', { turnId, message: 'Ask me' });
  const conversations = (await Promise.all(CONVERSATIONS.map(start))).map(({ conversationId }) => conversationId);
  await editor.until('the last prompt', () => editor.all('aside/prompt').length === COUNT);
  const prompts = editor.all('aside/prompt').map((prompt) => prompt.promptId);
  assert.equal(new Set(prompts).size, COUNT);

  for (let sent = 0; sent < NOTIFICATIONS; sent += 1) editor.typeAtEnd('clean.md', `${sent}\n`);
  const pending = await editor.request('aside/prompt/pending', {});
  assert.deepEqual(pending.prompts.map((prompt) => prompt.promptId).sort(), [...prompts].sort());
  assert.deepEqual(closedIn(editor), [], 'the request was answered before any prompt was');

  // Each answer is given by a reply, and every other one once more, in other words.
  const order = shuffled(prompts, SEED);
  const replyAgain = (promptId) =>
    editor.writer.write({ jsonrpc: '2.0', id: editor.reader.ids.get(promptId), result: typed('Another answer') });
  for (const [at, promptId] of order.entries()) {
    editor.leftOpen.get(promptId)(typed(answerOf(promptId)));
    editor.leftOpen.delete(promptId);
    if (at % 2 === 0) setImmediate(replyAgain, promptId);
  }
  const ends = await Promise.all(CONVERSATIONS.map((turn) => editor.completed(turn)));
  assert.deepEqual(ends.map((end) => [end.outcome, end.answer]), ends.map(() => ['completed', 'All answered.']));
  const counted = closedIn(editor).map(({ promptId, outcome, by, answer }) => [promptId, outcome, by, answer]);
  assert.deepEqual(counted.sort(), prompts.map((id) => [id, 'answered', 'user', answerOf(id)]).sort());

  const before = await transcripts(editor, conversations);
  for (const promptId of [...prompts, 'no such prompt']) {
    const answer = { promptId, answer: typed('Too late') };
    await assert.rejects(editor.request('aside/prompt/answer', answer), { code: UNKNOWN_PROMPT });
  }
  for (const promptId of prompts) await replyAgain(promptId);
  await editor.writer.write({ jsonrpc: '2.0', id: 1_000_000, result: typed('To nothing') });
  await editor.writer.write({ jsonrpc: '2.0', id: 'nobody', error: { code: 1, message: 'To nothing' } });

  // A turn that is cancelled takes its prompts with it; what is answered then comes too late.
  const { conversationId } = await start('cancelled');
  await editor.until('the prompts of another turn', () => editor.all('aside/prompt').length === COUNT + 10);
  await editor.request('aside/turn/cancel', { turnId: 'cancelled' });
  assert.equal((await editor.completed('cancelled')).outcome, 'cancelled');
  assert.equal(editor.leftOpen.size, 10);
  for (const reply of editor.leftOpen.values()) reply(typed('Too late'));

  assert.deepEqual((await editor.request('aside/prompt/pending', {})).prompts, []);
  assert.deepEqual(await transcripts(editor, conversations), before);
  const [late] = await transcripts(editor, [conversationId]);
  assert.ok(!late.includes('Too late'), late);
  assert.equal(editor.server.exitCode, null, 'the server lives on');
}));

// Aside under a client that this project did not write: Microsoft's, which VS Code is built on.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { withEditor } from './editor.mjs';

const ANSWERS = { 'Which milk?': 'soy', 'Why?': 'because 🥛 is für all' };
const LAST_WORDS = 'All of it is soy milk now.';
// Which edits are asked for: of a buffer with the user's own changes always.
const ASKED = { ask: ['notes.md', 'draft.md', 'clean.md'], edits: ['draft.md'] };
const NOTES = '# Shopping\n\n- milk\n- bread\n- soy milk for the café\n';
const DRAFT = '# Draft\n\nThe café sells soy milk.\ntyped, not saved\n';
const CLEAN = '# Clean\n\n🥛 soy milk, 2 l\n';
const TOOLS = ['read_notes', 'read_draft', 'read_clean', 'search', 'list', 'edit_notes', 'edit_draft', 'edit_clean'];

// One with changes that are not saved, one without; `notes.md` stays closed.
function openDocuments(editor) {
  editor.open('draft.md');
  editor.typeAtEnd('draft.md', 'typed, not saved\n');
  editor.open('clean.md');
}

function checkEdits(editor, { cleanIsSaved }) {
  assert.equal(editor.file('notes.md'), NOTES);
  assert.equal(editor.buffer('draft.md'), DRAFT);
  assert.equal(editor.buffer('clean.md'), CLEAN);
  assert.ok(!editor.file('draft.md').includes('soy'), 'what the user did not save stays so');
  assert.equal(editor.file('clean.md') === CLEAN, cleanIsSaved);
  const changed = editor.all('workspace/applyEdit').map((params) => params.edit.documentChanges[0].textDocument);
  changed.sort((a, b) => a.version - b.version);
  assert.deepEqual(changed, [
    { uri: editor.uri('clean.md'), version: 1 },
    { uri: editor.uri('draft.md'), version: 2 },
  ]);
}

const shows = (text) => (method, shown) => method === 'window/showDocument' && shown.includes(text);

for (const mode of ['ask', 'edits']) {
  const known = { script: 'turn.toml', knowsAside: true, answers: ANSWERS };
  test(`a turn with the capability, mode ${mode}`, withEditor(known, async (editor) => {
    openDocuments(editor);
    const started = await editor.request('aside/turn/start', { turnId: 'tidy', message: 'Tidy the notes', mode });
    assert.equal(started.turnId, 'tidy');
    const end = await editor.completed('tidy');
    assert.equal(end.outcome, 'completed', JSON.stringify(end));
    assert.deepEqual([end.answer, end.refusals], [LAST_WORDS, []]);

    const ofTurn = editor.seen.filter(([method, params]) =>
      ['aside/turn/update', 'aside/turn/completed'].includes(method) && params.turnId === 'tidy');
    assert.equal(ofTurn.findIndex(([method]) => method === 'aside/turn/completed'), ofTurn.length - 1);
    ofTurn.slice(0, -1).forEach(([, params], at) => assert.equal(params.seq, at + 1));

    const text = editor.updates('tidy', 'text').map((update) => update.text).join('');
    assert.equal(text, `I read all of it first. 🥛Two questions.${LAST_WORDS}`);
    const results = editor.updates('tidy', 'toolResult').map((update) => [update.callId, update.status]);
    assert.deepEqual(Object.fromEntries(results), Object.fromEntries(TOOLS.map((call) => [call, 'ok'])));
    const inquiries = editor.updates('tidy', 'inquiry').map((update) => [update.callIds, update.status]);
    assert.deepEqual(inquiries, [[['edit_notes'], 'asked'], [['edit_notes'], 'answered']]);
    const edited = editor.updates('tidy', 'edit').map((update) => [update.callId, update.changes.map(({ uri }) => uri)]);
    const due = ['notes', 'draft', 'clean'].map((name) => [`edit_${name}`, [editor.uri(`${name}.md`)]]);
    assert.deepEqual(Object.fromEntries(edited), Object.fromEntries(due));

    const prompts = editor.all('aside/prompt');
    const questions = prompts.filter((prompt) => prompt.kind === 'question');
    assert.deepEqual(Object.fromEntries(questions.map((prompt) => [prompt.text, prompt.answerType])), {
      'Which milk?': { type: 'select', options: ['oat', 'soy'] },
      'Why?': { type: 'text' },
    });
    const previews = prompts.filter((prompt) => prompt.kind === 'runTool').map((prompt) => prompt.preview);
    const asked = previews.map((preview) => preview.uri).sort();
    assert.deepEqual(asked, ASKED[mode].map((name) => editor.uri(name)).sort());
    const preview = previews.find(({ uri }) => uri === editor.uri('draft.md'));
    assert.deepEqual([preview.version, preview.new], [2, DRAFT]);
    const closed = editor.updates('tidy', 'question').filter((update) => update.by === 'user');
    const ids = (all) => all.map((it) => it.promptId).sort();
    assert.deepEqual(ids(closed), ids(prompts));

    checkEdits(editor, { cleanIsSaved: true });
    assert.deepEqual(editor.all('aside/document/save'), [{ uri: editor.uri('clean.md') }]);
    const { items } = await editor.request('aside/conversation/list', { limit: 1 });
    assert.deepEqual(items.map((it) => [it.turns, it.status, it.prompts]), [[1, 'idle', 0]]);
  }));

  const unknown = { script: 'turn.toml', knowsAside: false, answers: ANSWERS, mode };
  test(`a turn without the capability, mode ${mode}`, withEditor(unknown, async (editor) => {
    openDocuments(editor);
    await editor.command('aside.server.ask', { message: 'Tidy the notes' });
    const transcript = await editor.until('the transcript', shows(LAST_WORDS));
    await editor.until('the end of the progress', (method, value) => method === '$/progress' && value.kind === 'end');

    for (const said of [LAST_WORDS, 'Which milk?', ...Object.values(ANSWERS)]) {
      assert.ok(transcript.includes(said), `${said} in ${transcript}`);
    }
    const kinds = editor.all('$/progress').map((value) => value.kind);
    assert.deepEqual([kinds[0], kinds.at(-1)], ['begin', 'end']);
    assert.ok(kinds.length > 2 && kinds.slice(1, -1).every((kind) => kind === 'report'), kinds.join());
    assert.equal(editor.all('window/workDoneProgress/create').length, 1);
    const messages = editor.all('window/showMessageRequest').map((params) => params.message);
    const isQuestion = (message) => Object.keys(ANSWERS).some((text) => message.endsWith(text));
    assert.equal(messages.filter(isQuestion).length, 2);
    assert.equal(messages.length - 2, ASKED[mode].length);
    const diffs = editor.all('window/showDocument').filter((shown) => /^-.*\n\+/m.test(shown));
    assert.equal(diffs.length, ASKED[mode].length, 'a change is shown before it is allowed');
    assert.deepEqual(editor.seen.filter(([method]) => method.startsWith('aside/')), []);
    checkEdits(editor, { cleanIsSaved: false });
  }));
}

const two = { script: 'two.toml' };

test('a prompt that is left open holds up no other conversation', withEditor({ ...two, knowsAside: true }, async (editor) => {
  await editor.request('aside/turn/start', { turnId: 'asks', message: 'Ask me' });
  const { promptId } = await editor.until('the question', (method) => method === 'aside/prompt');
  await editor.request('aside/turn/start', { turnId: 'talks', message: 'Just talk' });
  assert.equal((await editor.completed('talks')).answer, 'I talked.');
  const { prompts } = await editor.request('aside/prompt/pending', {});
  assert.deepEqual(prompts.map((prompt) => prompt.promptId), [promptId]);
  await editor.request('aside/prompt/answer', { promptId, answer: { action: 'answer', answer: true } });
  const dismissed = await editor.until('its dismissal', (method) => method === 'aside/prompt/dismiss');
  assert.equal(dismissed.promptId, promptId);
  assert.equal((await editor.completed('asks')).answer, 'You said yes.');
}));

test('a message that is left open holds up no other conversation', withEditor({ ...two, knowsAside: false }, async (editor) => {
  await editor.command('aside.server.ask', { message: 'Ask me' });
  await editor.until('the question', (method, params) =>
    method === 'window/showMessageRequest' && params.message.endsWith('Shall I?'));
  await editor.command('aside.server.ask', { message: 'Just talk' });
  await editor.until('the other conversation’s end', shows('I talked.'));
  assert.equal(editor.all('window/showMessageRequest').length, 1);
  await editor.command('aside.server.answer', { answer: true });
  await editor.until('the first conversation’s end', shows('You said yes.'));
}));

const asking = { script: 'asking.toml', program: 'ASKING' };
const eachKind = { 'Push?': true, 'Which?': 'two', 'Why?': 'because', 'Password?': 'correct horse' };
const withIt = { ...asking, knowsAside: true, answers: eachKind };

test('each kind of question with the capability', withEditor(withIt, async (editor) => {
  await editor.request('aside/turn/start', { turnId: 'asks', message: 'Ask me' });
  const { outcome, refusals } = await editor.completed('asks');
  assert.deepEqual([outcome, refusals], ['completed', []]);
  assert.deepEqual(editor.all('aside/prompt').map((prompt) => prompt.text), Object.keys(eachKind));
  const told = editor.updates('asks', 'toolResult').map((update) => [update.callId, update.summary]);
  assert.deepEqual(Object.fromEntries(told), {
    boolean: 'true', select: '"two"', text: '"because"', secret: 'it was [secret]!',
  });
  const redacted = editor.updates('asks', 'question').filter((update) => update.outcome === 'redacted');
  assert.deepEqual(redacted.map((update) => update.answer), [undefined]);
  assert.ok(!JSON.stringify(editor.seen).includes(eachKind['Password?']));
}));

const answers = { 'Push?': 'Yes', 'Which?': 'two', 'Why?': 'because' };
const withoutIt = { ...asking, knowsAside: false, answers };

test('each kind of question without the capability', withEditor(withoutIt, async (editor) => {
  await editor.command('aside.server.ask', { message: 'Ask me' });
  const transcript = await editor.until('the transcript', shows('That is all.'));
  const asked = editor.all('window/showMessageRequest').map(({ message }) => message);
  const due = Object.keys(answers).map((text) => `asker: ${text}`);
  assert.deepEqual(asked.sort(), due.sort(), 'nobody is asked for a secret');
  const nobody = 'Refused: asker, nobody was there to answer.';
  for (const result of ['true', '"two"', '"because"', nobody]) {
    assert.ok(transcript.includes(result), `${result} in ${transcript}`);
  }
}));

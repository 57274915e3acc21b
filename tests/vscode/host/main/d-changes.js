const { ask, aside, assert, ended, instead, prompt, read, run, says, show, test, textOf, until, vscode, withModal } = require('../kit');

const NOTES = '# Shopping\n\n- milk\n- bread\n- apples\n- soap\n- candles\n- cheese\n';
const DRAFT = '# Draft\n\nThe café sells milk.\n';

const tabs = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs);
const diff = () => tabs().find(({ input }) => input instanceof vscode.TabInputTextDiff);
const change = (count = 1) => until(`${count} changes`, () => aside().prompts.length === count && aside().prompts);
const shown = async () => (await vscode.workspace.openTextDocument(diff().input.modified)).getText();
const lenses = () => run('vscode.executeCodeLensProvider', diff().input.modified).then((all) => all.map((it) => it.command));
const lens = async (title, at) => {
  const found = (await lenses()).filter((it) => it.title === title)[at];
  assert.ok(found, title);
  await run(found.command, ...found.arguments);
};

test('a change is a diff; accepted, it is one undo, and the file is saved', async () => {
  const editor = await show('notes.md', NOTES);
  const thread = await ask('Change one word');
  const [{ promptId }] = await change();
  assert.equal(diff(), undefined, 'nothing opens by itself');
  await until('its note', () => thread.comments.some((it) => it.contextValue === 'change'));
  await run('aside.answerQuestion');
  const tab = await until('the diff', diff);
  assert.equal(tab.label, 'notes.md – Aside’s change');
  assert.equal(await shown(), NOTES.replace('- milk', '- oat milk'));
  await run('aside.acceptChange', { promptId });
  await ended(thread);
  await says(thread, 'Changed one.');
  assert.equal(read('notes.md'), NOTES.replace('- milk', '- oat milk'), 'it is saved');
  assert.equal(editor.document.isDirty, false);
  await until('the end of the diff', () => !diff());

  await vscode.window.showTextDocument(editor.document);
  await run('undo');
  assert.equal(editor.document.getText(), NOTES, 'one undo takes it back');
});

test('a block is rejected and the other accepted: the file gets that text', async () => {
  await show('notes.md', NOTES);
  const thread = await ask('Change two words');
  await change();
  await run('aside.reviewChanges');
  await until('the diff', diff);
  assert.deepEqual((await lenses()).map((it) => it.title), ['Accept Block', 'Reject Block', 'Accept Block', 'Reject Block']);
  await lens('Reject Block', 0);
  await until('the old line', async () => (await shown()) === NOTES.replace('cheese', 'blue cheese'));
  assert.equal(aside().prompts.length, 1, 'a block is still open');
  await lens('Accept Block', 1);
  await ended(thread);
  assert.equal(read('notes.md'), NOTES.replace('cheese', 'blue cheese'));
});

test('a change is rejected as a whole', async () => {
  await show('notes.md', NOTES);
  const thread = await ask('Change two words, though not really');
  const [{ promptId }] = await change();
  await says(thread, /^- … Edit notes\\\.md$/m);
  await run('aside.rejectChange', { promptId });
  await ended(thread);
  assert.equal(read('notes.md'), NOTES);
  assert.match(textOf(thread), /^- ⊘ Edit notes\\\.md$/m);
});

test('several changes are one tab, and are decided one by one', async () => {
  await show('notes.md', NOTES);
  await show('draft.md', DRAFT);
  const thread = await ask('Change two files');
  const waiting = await change(2);
  await run('aside.answerQuestion');
  await until('the tab of both', () => tabs().some(({ label }) => label.startsWith('2 changes of Aside')));
  const of = (name) => waiting.find(({ preview }) => preview.uri.endsWith(name)).promptId;
  await run('aside.acceptChange', { promptId: of('notes.md') });
  await run('aside.rejectChange', { promptId: of('draft.md') });
  await ended(thread);
  assert.deepEqual([read('notes.md'), read('draft.md')], [NOTES.replace('- milk', '- soy milk'), DRAFT]);
  await until('the end of the tab', () => !tabs().some(({ label }) => label.startsWith('2 changes of Aside')));
});

test('a document that is not saved is changed and stays unsaved', async () => {
  const editor = await show('draft.md', DRAFT);
  await editor.edit((edit) => edit.insert(new vscode.Position(3, 0), 'Mine, not saved.\n'));
  const thread = await ask('Change the draft', 'draft.md');
  const [{ promptId, preview }] = await change();
  assert.equal(preview.version, editor.document.version);
  await run('aside.acceptChange', { promptId });
  await ended(thread);
  assert.equal(editor.document.getText(), `${DRAFT.replace('milk', 'tea')}Mine, not saved.\n`);
  assert.deepEqual([editor.document.isDirty, read('draft.md')], [true, DRAFT]);
});

test('a change of a document that was typed in since is not made', async () => {
  const editor = await show('notes.md', NOTES);
  const thread = await ask('Change two words in another aisle');
  const [{ promptId }] = await change();
  await editor.edit((edit) => edit.insert(new vscode.Position(8, 0), '- salt\n'));
  const said = [];
  await instead('showWarningMessage', () => (message, ...buttons) => (said.push(message), Promise.resolve(buttons[0])), () => run('aside.acceptChange', { promptId }));
  await ended(thread);
  assert.match(said[0], /^notes\.md was changed since/);
  assert.equal(editor.document.getText(), `${NOTES}- salt\n`);
});

test('a command reads what was edited before it, and is approved with all of it in sight', async () => {
  await show('notes.md', NOTES);
  const thread = await ask('Change and count');
  const [{ promptId }] = await change();
  await run('aside.acceptChange', { promptId });
  await until('the command', () => aside().prompts.some((it) => it.preview?.kind === 'command'));
  const [modal] = await withModal('Run Once', () => run('aside.answerQuestion'));
  assert.match(modal.detail, /grep -c 'rice milk' notes\.md && echo counted[^]*in \//);
  assert.deepEqual(modal.buttons, ['Run Once', 'Run in This Turn', 'Always Run', 'No', 'No, with a Note…']);
  await ended(thread);
  await says(thread, 'The command saw it.');
  await run('aside.undoTurn', thread);
  assert.equal(read('notes.md'), NOTES);
  await says(thread, 'Undone: notes');
});

test('a command that is hidden waits, and one that is refused does not run', async () => {
  const thread = await ask('Delete everything');
  await prompt('');
  await withModal(undefined, () => run('aside.answerQuestion'));
  assert.equal(aside().prompts.length, 1);
  await withModal('No', () => run('aside.answerQuestion'));
  await ended(thread);
  assert.match(textOf(thread), /⊘/);
});

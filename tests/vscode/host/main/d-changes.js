const { ask, aside, assert, ended, instead, prompt, read, run, says, show, stopClock, test, textOf, until, uri, vscode, withModal } = require('../kit');

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
  assert.deepEqual((await lenses()).map((it) => it.title), ['Accept Block', 'Reject Block', 'Accept File', 'Reject File', 'Accept Block', 'Reject Block']);
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
  await says(thread, /^- … Edit notes\\\.md, lines 3 to 8$/m);
  await run('aside.rejectChange', { promptId });
  await ended(thread);
  assert.equal(read('notes.md'), NOTES);
  assert.match(textOf(thread), /^- ⊘ Edit notes\\\.md, lines 3 to 8 · no \\\(you\\\)$/m);
});

test('several changes are one tab, and are decided one by one', async () => {
  await show('notes.md', NOTES);
  await show('draft.md', DRAFT);
  const thread = await ask('Change two files');
  const waiting = await change(2);
  await run('aside.answerQuestion');
  await until('the tab of both', () => tabs().some(({ label }) => label.startsWith('Aside’s changes')));
  const of = (name) => waiting.find(({ preview }) => preview.uri.endsWith(name)).promptId;
  await run('aside.acceptChange', { promptId: of('notes.md') });
  await run('aside.rejectChange', { promptId: of('draft.md') });
  await ended(thread);
  assert.deepEqual([read('notes.md'), read('draft.md')], [NOTES.replace('- milk', '- soy milk'), DRAFT]);
  await until('the end of the tab', () => !tabs().some(({ label }) => label.startsWith('Aside’s changes')));
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

test('a change goes to where its lines are, if other ones were typed in since', async () => {
  const editor = await show('notes.md', NOTES);
  const thread = await ask('Edit two words');
  const [{ promptId }] = await change();
  await editor.edit((edit) => edit.insert(new vscode.Position(2, 0), '- salt\n'));
  await run('aside.acceptChange', { promptId });
  await ended(thread);
  assert.equal(editor.document.getText(), NOTES.replace('- milk', '- salt\n- soy milk').replace('cheese', 'blue cheese'));
});

test('a part of a change goes there, too', async () => {
  const { document } = await show('notes.md', NOTES);
  const thread = await ask('Edit two words, and lines move');
  await change();
  await run('aside.reviewChanges');
  await until('the diff', diff);
  await lens('Reject Block', 0);
  const today = new vscode.WorkspaceEdit();
  today.insert(uri('notes.md'), new vscode.Position(1, 0), 'Today:\n');
  await vscode.workspace.applyEdit(today);
  await lens('Accept Block', 1);
  await ended(thread);
  assert.equal(document.getText(), NOTES.replace('\n', '\nToday:\n').replace('cheese', 'blue cheese'));
});

test('a change of lines that were typed in since is not made', async () => {
  const editor = await show('notes.md', NOTES);
  const thread = await ask('Change two words in another aisle');
  const [{ promptId }] = await change();
  await editor.edit((edit) => edit.insert(new vscode.Position(7, 2), 'old '));
  const said = [];
  await instead('showWarningMessage', () => (message, ...buttons) => (said.push(message), Promise.resolve(buttons[0])), () => run('aside.acceptChange', { promptId }));
  await ended(thread);
  assert.match(said[0], /^The same lines of notes\.md were changed since/);
  assert.equal(editor.document.getText(), NOTES.replace('cheese', 'old cheese'));
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
  assert.match(thread.contextValue, / changed$/, 'undo is offered');
  await run('aside.undoTurn', thread);
  assert.equal(read('notes.md'), NOTES);
  await says(thread, 'Undone: notes');
  assert.doesNotMatch(thread.contextValue, / changed/, 'there is nothing left to undo');
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

test('a command of several lines keeps their indent, and a right answer that came too soon after another is asked for again', async () => {
  const thread = await ask('Run some lines');
  await until('both commands', () => aside().prompts.length === 2);
  const seen = [];
  const modal = (pass) => () => (message, { detail }) => {
    if (seen.push({ message, detail }) > 2) pass(500);
    return Promise.resolve('Run Once');
  };
  await stopClock((pass) => instead('showWarningMessage', modal(pass), () => run('aside.answerQuestion')));
  assert.equal(seen[0].message, 'Aside (1 of 2): Run this command?');
  assert.match(seen[0].detail, /for one in 1 2; do\n\u00a0{4}echo "\$one"\u00a0{2}# [^\n]*\ndone\n\nin \//);
  assert.deepEqual(seen.map(({ detail }) => detail.includes('echo three')), [false, true, true]);
  await ended(thread);
  await says(thread, 'Both ran.');
});

test('a long command is a page of its own below a list, which is there once, has nothing to be saved, and goes with it', async () => {
  const thread = await ask('Run a whole script');
  await prompt('echo');
  const pages = () => tabs().filter(({ input }) => input instanceof vscode.TabInputText && input.uri.scheme === 'aside-prompt');
  const offered = [];
  const choose = (label) => () => (items) => (offered.push(...items), Promise.resolve(label));
  for (let n = 0; n < 2; n++) await instead('showQuickPick', choose(undefined), () => run('aside.answerQuestion'));
  assert.equal(aside().prompts.length, 1, 'Escape leaves it open');
  assert.deepEqual(pages().map(({ label, isDirty }) => [label, isDirty]), [['run_command.sh', false]]);
  const text = (await vscode.workspace.openTextDocument(pages()[0].input.uri)).getText();
  assert.match(text, /^\n{8}[^]*echo line 1\n[^]*echo line 40\n\nin \//);
  assert.deepEqual(offered.slice(0, 3), ['No', 'No, with a Note…', 'Run Once']);
  await instead('showQuickPick', choose('No'), () => run('aside.answerQuestion'));
  await ended(thread);
  await until('the end of its page', () => pages().length === 0);
});

test('a save that takes too long is told of, and goes on', async () => {
  const settings = vscode.workspace.getConfiguration('editor', uri('notes.md'));
  const said = [];
  const fix = () => new Promise((resolve) => setTimeout(resolve, 6_000));
  const slow = vscode.languages.registerCodeActionsProvider('markdown', { provideCodeActions: fix }, { providedCodeActionKinds: [vscode.CodeActionKind.SourceFixAll] });
  await settings.update('codeActionsOnSave', { 'source.fixAll': 'always' }, vscode.ConfigurationTarget.Workspace);
  await show('notes.md', NOTES);
  await instead('showWarningMessage', () => (message) => (said.push(message), Promise.resolve()), async () => {
    const thread = await ask('Change one word slowly');
    const [{ promptId }] = await change();
    await run('aside.acceptChange', { promptId });
    await until('the warning', () => said.length);
    await ended(thread);
    await until('it is saved', () => read('notes.md').includes('slow milk'));
  });
  assert.deepEqual(said, ['Aside changed notes.md, and it is still not saved after 5 s. Commands see the file as it was: save it yourself.']);
  slow.dispose();
  await settings.update('codeActionsOnSave', undefined, vscode.ConfigurationTarget.Workspace);
});

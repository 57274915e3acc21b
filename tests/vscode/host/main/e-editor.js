const { ask, aside, assert, complaints, ended, fs, instead, path, run, says, show, test, textOf, until, uri, vscode, withModal } = require('../kit');

const DRAFT = '# Draft\n\nThe café sells milk.\n';
const problems = vscode.languages.createDiagnosticCollection('test');

async function withProblem() {
  const editor = await show('draft.md', DRAFT);
  const problem = new vscode.Diagnostic(new vscode.Range(2, 4, 2, 8), 'no café', vscode.DiagnosticSeverity.Warning);
  problems.set(uri('draft.md'), [problem]);
  return { editor, problem };
}

test('the tools of the editor tell of open files, the selection, symbols and diagnostics', async () => {
  await withProblem();
  const thread = await ask('Look around');
  const editor = await show('notes.md');
  editor.selection = new vscode.Selection(3, 0, 3, 7);
  const provideReferences = (_document, { line, character }) => [new vscode.Location(uri('draft.md'), new vscode.Position(line, character))];
  const references = vscode.languages.registerReferenceProvider('markdown', { provideReferences });
  // Each is asked for: the server cannot know what a tool of an editor does.
  await until('the end', async () => {
    if (aside().prompts.length) await withModal('Run Once', () => run('aside.answerQuestion'));
    return thread.label.startsWith('Aside: done');
  });
  for (const said of ['notes.md is open.', 'bread is selected.', 'Shopping is a heading.', 'The café is a problem.', 'The draft refers to it.']) await says(thread, said);
  references.dispose();
});

test('the tools of the editor are allowed by name with one answer, which holds in this turn too and later', async () => {
  const settings = () => vscode.workspace.getConfiguration('aside');
  await settings().update('conversation.tools', { editor_symbols: { summary: 'Symbols.' }, list_files: { run: 'ask' } }, vscode.ConfigurationTarget.Global);
  const thread = await ask('Look everywhere');
  await until('two prompts', () => aside().prompts.length === 2);
  const [modal, ...others] = await withModal('Always Run the Editor’s Tools', () => run('aside.answerQuestion'));
  assert.deepEqual(others, [], 'the other one is not asked');
  assert.match(modal.detail, /only reads[^]*allows by name, in your settings, all of them that only read: editor_diagnostics, editor_open_files, editor_references, editor_selection, editor_symbols\.$/);
  await ended(thread);
  await says(thread, 'I looked twice.');
  const tools = settings().inspect('conversation.tools').globalValue;
  assert.deepEqual([tools.editor_symbols, tools.list_files], [{ summary: 'Symbols.', run: 'unattended' }, { run: 'ask' }]);
  await run('aside.reply', { thread, text: 'Look once more' });
  await ended(thread);
  await says(thread, 'I looked again.');
  // Who answered is on record: the person for the first call and, as it was for good, the next of that tool, and the
  // configuration for the three others.
  const choose = () => async (items) => (await items).find(({ label }) => label === 'Look everywhere');
  await instead('showQuickPick', choose, () => run('aside.openTranscript'));
  const isRecord = () => vscode.window.activeTextEditor?.document.uri.scheme === 'aside-conversation';
  await until('the record', isRecord);
  const record = vscode.window.activeTextEditor.document.getText();
  assert.equal(record.match(/\*\*The user answered:\*\* always/g)?.length, 1);
  assert.equal(record.match(/\*\*The configuration answered:\*\* once/g)?.length, 3);
  // What is allowed is listed by its name, and all of it asks again.
  let listed;
  const pick = () => (items) => Promise.resolve((listed = items));
  await instead('showQuickPick', pick, () => run('aside.showApprovals'));
  const [first, ...byName] = listed.map(({ label }) => label);
  assert.match(first, /^Run editor_\w+ in the editor$/);
  assert.deepEqual(byName.sort(), ['editor_diagnostics', 'editor_open_files', 'editor_references', 'editor_selection', 'editor_symbols']);
  assert.deepEqual(settings().inspect('conversation.tools').globalValue, { editor_symbols: { summary: 'Symbols.' }, list_files: { run: 'ask' } });
  const asked = await ask('Look everywhere');
  await until('the prompts again', () => aside().prompts.length === 2);
  await run('aside.stopTurn', asked);
  await until('no prompt', () => aside().prompts.length === 0);
  await settings().update('conversation.tools', undefined, vscode.ConfigurationTarget.Global);
});

test('what a message mentions goes along', async () => {
  await withProblem();
  fs.mkdirSync(uri('parts').fsPath, { recursive: true });
  fs.writeFileSync(uri('parts/gears.txt').fsPath, 'one\ntwo\nthree\nfour\n');
  const words = { '@draft.md': 'draft', '@selection': 'selection', '@diagnostics': 'diagnostics', '@problems': 'problems', '@parts/': 'folder', '@parts/gears.txt:2-3': 'lines' };
  for (const [word, answer] of Object.entries(words).map(([it, what]) => [it, `I see the ${what}.`])) {
    const thread = await ask(`Answer with ${word}, please`);
    await says(thread, answer);
    await ended(thread);
  }
});

test('the text of the active terminal goes along, and the clipboard is as before; what cannot be had is told', async () => {
  for (const [word, why] of [['@terminal', 'no terminal is open'], ['@diff', 'no Git repository']]) {
    const thread = await ask(`Answer with ${word}, please`);
    await ended(thread, 'failed');
    await says(thread, why);
  }
  const written = new vscode.EventEmitter();
  const pty = { onDidWrite: written.event, open: () => written.fire('make: no rule to make gears\r\n'), close: () => undefined };
  const terminal = vscode.window.createTerminal({ name: 'make', pty });
  terminal.show(true);
  await until('its text on the screen', async () => {
    for (const act of ['selectAll', 'copySelection']) await run(`workbench.action.terminal.${act}`);
    return (await vscode.env.clipboard.readText()).includes('no rule');
  });
  await vscode.env.clipboard.writeText('mine');
  const thread = await ask('Answer with @terminal, please');
  await says(thread, 'I see the terminal.');
  await ended(thread);
  assert.equal(await vscode.env.clipboard.readText(), 'mine');
  terminal.dispose();
});

test('a picture that is mentioned goes along', async () => {
  const red = fs.readFileSync(path.join(process.env.ASIDE_MEDIA, 'red.png'));
  fs.writeFileSync(uri('red dot.png').fsPath, red);
  const thread = await ask('Answer with a picture: @"red dot.png"');
  await says(thread, 'I see the picture.');
  await ended(thread);
});

test('a diagnostic has a fix by Aside in its light bulb, and it goes along', async () => {
  const { editor, problem } = await withProblem();
  const actions = await run('vscode.executeCodeActionProvider', editor.document.uri, problem.range, vscode.CodeActionKind.QuickFix.value);
  const [action, ...others] = actions.filter(({ title }) => /aside/i.test(title));
  assert.deepEqual([action.title, others], ['Aside: Fix', []], 'what the server offers to other editors is not there');
  const before = aside().threads.length;
  await run(action.command.command, ...action.command.arguments);
  const thread = await until('a thread', () => aside().threads.length > before && aside().threads.at(-1));
  await says(thread, 'I would fix the café.');
  await ended(thread);
  assert.equal(thread.range.start.line, 2);
});

test('an unknown message fails in the thread, with the reason', async () => {
  const thread = await ask('Nobody knows what to say to this');
  await ended(thread, 'failed');
  assert.match(textOf(thread), /no reply/i);
  await run('aside.retryTurn', thread);
  await until('the second try', () => thread.comments.filter(({ author }) => author.name === 'You').length === 2);
  await ended(thread, 'failed');
});
test('the lines of a thread stay with their text, and go along when its message is sent again', async () => {
  const thread = await ask('What does it sell?', 'draft.md', 2);
  await says(thread, 'Milk.');
  await ended(thread);
  const change = (make) => {
    const edit = new vscode.WorkspaceEdit();
    make(edit);
    return vscode.workspace.applyEdit(edit);
  };
  await change((edit) => edit.insert(uri('draft.md'), new vscode.Position(0, 0), 'A title\n\n'));
  await until('its line', () => thread.range.start.line === 4 && thread.range.end.line === 4);
  await run('aside.retryTurn', thread);
  await until('the second answer', () => textOf(thread).split('Milk.').length === 3);
  await ended(thread);
  await change((edit) => edit.delete(uri('draft.md'), new vscode.Range(0, 0, 2, 0)));
  await until('its line', () => thread.range.start.line === 2);
});

test('of a document that is no file its own text goes along, and not that of a file with the same path', async () => {
  const older = vscode.workspace.registerTextDocumentContentProvider('older', { provideTextDocumentContent: () => '# Draft\n\nThe café sold tea.\n' });
  const of = uri('draft.md').with({ scheme: 'older' });
  await vscode.workspace.openTextDocument(of);
  await ended(await ask('What was it before?', of, 2));
  older.dispose();
});

test('Ask in a document that is no file says so', async () => {
  const older = vscode.workspace.registerTextDocumentContentProvider('older', { provideTextDocumentContent: () => '# Draft\n' });
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri('draft.md').with({ scheme: 'older' })));
  void run('aside.ask');
  await until('the complaint', () => complaints.length);
  assert.match(complaints[0], /^Aside: Beside draft\.md, which is no text of a file, no question can be asked/);
  complaints.length = 0;
  older.dispose();
});

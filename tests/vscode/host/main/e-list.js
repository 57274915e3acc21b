const { aside, ask, assert, ended, fs, instead, isRejected, path, prompt, read, run, says, show, test, turnTo, until, uri, vscode, withModal } = require('../kit');

/** Chooses in a list by label, and gives what it had. */
async function choosing(label, during) {
  let all;
  const pick = () => async (items) => {
    all = await items;
    return all.find((it) => it.label === label);
  };
  await instead('showQuickPick', pick, during);
  return all;
}

const titles = async () => (await choosing('', () => run('aside.openConversation'))).map(({ label }) => label);

test('a conversation is opened as markdown, renamed, forked and deleted', async () => {
  await ended(await ask('Keep this for later'));
  const before = await titles();
  assert.equal(before[0], 'Keep this for later', 'the newest comes first');
  await instead('showInputBox', () => ({ value }) => Promise.resolve(`${value}, please`), () => choosing(before[0], () => run('aside.renameConversation')));
  assert.deepEqual(await titles(), ['Keep this for later, please', ...before.slice(1)]);

  await choosing('Keep this for later, please', () => run('aside.openTranscript'));
  const { document } = await until('its page', () => vscode.window.activeTextEditor?.document.uri.scheme === 'aside-conversation' && vscode.window.activeTextEditor);
  assert.equal(document.languageId, 'markdown');
  assert.match(document.getText(), /Keep this for later[^]*It is kept\./);
  await choosing('Keep this for later, please', () => run('aside.openLedger'));
  const ledger = await until('its ledger', () => /ledger/.test(vscode.window.activeTextEditor?.document.uri.path) && vscode.window.activeTextEditor);
  assert.match(ledger.document.getText(), /printed from its log\.[^]*- turn 1: Keep this for later/);

  await choosing('Keep this for later, please', () => run('aside.forkConversation'));
  const forked = await titles();
  assert.equal(forked.length, before.length + 1);
  for (const title of forked.filter((it) => it.includes('Keep this'))) {
    const [{ message }] = await withModal(undefined, () => choosing(title, () => run('aside.deleteConversation')));
    assert.equal(message, `Delete “${title}” for good?`);
    assert.equal((await titles()).filter((it) => it === title).length > 0, true, 'who does not press Delete keeps it');
    await withModal('Delete', () => choosing(title, () => run('aside.deleteConversation')));
  }
  assert.deepEqual(await titles(), before.slice(1));
});

const settings = () => vscode.workspace.getConfiguration('aside');
const written = () => ['assistant.model', 'conversation.mode'].map((key) => settings().inspect(key).globalValue);

test('the model is picked from those of the server, holds in this workspace, and is marked', async () => {
  const before = written();
  const names = await choosing('', () => run('aside.pickModel'));
  const found = names.find(({ label, detail }) => label.startsWith('anthropic/') && detail);
  assert.match(`${found.description}, ${found.detail}`, /^[\d.]+[kM] tokens, \$[\d.]+ in, \$[\d.]+ out, for a million tokens$/);
  await choosing(found.label, () => run('aside.pickModel'));
  const again = await choosing('By the settings', () => run('aside.pickModel'));
  assert.match(`${again[0].label}: ${again[0].description}`, new RegExp(`^${found.label}: now · `));
  assert.deepEqual(written(), before, 'no setting of all windows is written');
  const thread = await ask('Tell me nothing');
  await ended(thread, 'failed');
  await isRejected();
});

test('the walkthrough has four steps, and its tour plays them without a model', async () => {
  const { extensionPath, packageJSON } = vscode.extensions.getExtension('aside.aside');
  const { steps } = packageJSON.contributes.walkthroughs[0];
  const all = await vscode.commands.getCommands();
  const commands = steps.map(({ description, completionEvents, media }) => {
    const [, command] = /\]\(command:([\w.]+)\)$/.exec(description);
    assert.ok(all.includes(command) && completionEvents.includes(`onCommand:${command}`), command);
    assert.ok(fs.existsSync(path.join(extensionPath, media.markdown)), media.markdown);
    return command;
  });
  assert.deepEqual(commands, ['aside.pickModel', 'aside.ask', 'aside.answerQuestion', 'aside.reviewChanges']);

  await choosing('The tour', () => run('aside.pickModel'));
  const thread = await ask('Show me around');
  await prompt('What shall the tour leave behind?');
  const input = await turnTo('pick');
  await until('its default', () => input.activeItems[0]?.label === 'a greeting');
  await run('workbench.action.acceptSelectedQuickOpenItem');
  const { promptId } = await until('the change', () => aside().prompts.find(({ preview }) => preview?.kind === 'diff'));
  await run('aside.reviewChanges');
  await run('aside.acceptChange', { promptId });
  await says(thread, 'That was the tour.');
  await ended(thread);
  assert.match(read('aside-tour.md'), /^# A greeting/);
  fs.unlinkSync(uri('aside-tour.md').fsPath);
  const now = (await choosing('', () => run('aside.pickModel'))).find(({ description }) => description?.includes('now'));
  assert.equal(now, undefined, 'the tour gives the model back');
});

test('a mode is picked, and holds for what comes next', async () => {
  const items = await choosing('plan', () => run('aside.pickMode'));
  assert.deepEqual(items.map(({ label }) => label), ['ask', 'edits', 'plan', 'auto', 'By the settings']);
  assert.match(items[2].detail, /^Reading runs, the rest is refused\.$/);
  assert.deepEqual(written()[1], undefined, 'no setting of all windows is written');
  const thread = await ask('Delete everything in plan');
  await ended(thread);
  await says(thread, 'Not in this mode.');
  await choosing('By the settings', () => run('aside.pickMode'));
});

test('an interrupted conversation goes on where it stopped', async () => {
  const thread = await ask('Stop here and go on later');
  const { promptId } = await prompt('Go on?');
  await run('aside.restartServer');
  await until('its prompt, to be resumed', () => aside().prompts.some((it) => it.promptId === promptId && it.resumable));
  await run('aside.closeThread', thread);
  const items = await choosing('Stop here and go on later', () => run('aside.resumeConversation'));
  assert.match(items[0].description, /^interrupted · \d/);
  await until('its prompt', () => aside().prompts.some((it) => it.promptId === promptId && !it.resumable));
  await until('the answer', async () => {
    await run('aside.chooseAnswer', promptId, 0);
    return !aside().prompts.length;
  });
  await until('its answer in the view', () => aside().shown.at(-1)?.includes('I went on.'));
  assert.match(aside().shown.at(-1), /^Stop here and go on later/);
});

test('no number of the settings has to be filled in', () => {
  const { packageJSON } = vscode.extensions.getExtension('aside.aside');
  const all = packageJSON.contributes.configuration.flatMap(({ properties }) => Object.entries(properties));
  const numbers = all.filter(([, it]) => 'minimum' in it);
  assert.ok(numbers.length > 10);
  assert.deepEqual(numbers.filter(([, it]) => !('default' in it)), []);
});

test('where no MCP server is configured, the list says so, and only when that is known', async () => {
  let shown;
  const pick = () => async (items, options) => void (shown = { placeHolder: options.placeHolder, labels: (await items).map(({ label }) => label) });
  await instead('showQuickPick', pick, () => run('aside.showServers'));
  assert.deepEqual(shown.labels, ['None is configured']);
  assert.doesNotMatch(shown.placeHolder, /none/i);
});

test('what was allowed for good is listed, and asks again when it is taken back', async () => {
  const first = await ask('Run it for good');
  await prompt('echo for good');
  await withModal('Always Run', () => run('aside.answerQuestion'));
  await ended(first);
  await ended(await ask('Run it for good'));
  let shown;
  const pick = () => (items) => Promise.resolve((shown = items));
  await instead('showQuickPick', pick, () => run('aside.showApprovals'));
  assert.deepEqual(shown.map(({ label }) => label), ['echo for good']);
  const again = await ask('Run it for good');
  await prompt('echo for good');
  await withModal('No', () => run('aside.answerQuestion'));
  await ended(again);
});

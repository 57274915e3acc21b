const { accept, aside, ask, assert, ended, instead, isRejected, prompt, run, says, show, stopClock, test, textOf, until, useServer, vscode } = require('../kit');

test('the setting is taken back', () => useServer(process.env.ASIDE));

test('a message while Aside works is added to the turn', async () => {
  const thread = await ask('Walk slowly');
  await says(thread, 'I walk');
  await run('aside.reply', { thread, text: 'Turn left' });
  // The turn comes to no step without it, however late it was said.
  await run('aside.skipQuestion', await prompt('echo walked'));
  await says(thread, 'I turned left.');
  await ended(thread);
  assert.match(textOf(thread), /I walk[^]*> \*\*You:\*\* Turn left[^]*I turned left\./);
  assert.equal(thread.comments.filter((it) => it.author.name === 'You').length, 1, 'it is one turn');
});

test('a question comes up by itself for a person who just replied, and takes no key that was on its way', async () => {
  const thread = await ask('Tell me nothing');
  await ended(thread, 'failed');
  await isRejected();
  let shown;
  const caught = (real) => () => (shown = real());
  await instead('createQuickPick', caught, () => stopClock(async (pass) => {
    await run('aside.reply', { thread, text: 'Question me' });
    await until('the input', () => shown);
    await accept();
    assert.equal(aside().prompts.length, 1, 'the key came too soon');
    pass(500);
    await until('the answer', async () => {
      await accept();
      return aside().prompts.length === 0;
    });
  }));
  await ended(thread);
});

test('a question does not come up where the person went back to the text', async () => {
  const editor = await show('notes.md');
  const thread = await ask('Tell me nothing');
  await ended(thread, 'failed');
  await isRejected();
  let shown = 0;
  const counted = (real) => () => (shown++, real());
  await instead('createQuickPick', counted, async () => {
    await run('aside.reply', { thread, text: 'Question me when the command is decided' });
    const [command] = await until('the command', () => aside().prompts.length === 1 && aside().prompts);
    const moved = new Promise((resolve) => {
      const listening = vscode.window.onDidChangeTextEditorSelection(() => resolve(listening.dispose()));
    });
    editor.selection = new vscode.Selection(3, 0, 3, 0);
    await moved;
    await run('aside.skipQuestion', command);
    await prompt('Push it?');
    await says(thread, 'Push it?');
  });
  assert.equal(shown, 0);
  await run('aside.skipQuestion', thread.comments.at(-1));
  await ended(thread);
});

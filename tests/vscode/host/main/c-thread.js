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

test('a question waits in its thread, and opens by itself for nobody', async () => {
  const thread = await ask('Tell me nothing');
  await ended(thread, 'failed');
  await isRejected();
  let shown = 0;
  const counted = (real) => () => (shown++, real());
  await instead('createQuickPick', counted, async () => {
    await run('aside.reply', { thread, text: 'Question me when the command is decided' });
    const [command] = await until('the command', () => aside().prompts.length === 1 && aside().prompts);
    await run('aside.skipQuestion', command);
    await prompt('Push it?');
    await says(thread, 'Push it?');
  });
  assert.equal(shown, 0);
  await run('aside.skipQuestion', thread.comments.at(-1));
  await ended(thread);
});

const { ask, aside, assert, debugInformation, ended, read, run, says, test, until, vscode, withModal } = require('../kit');

test('an untrusted workspace gets the server of the extension, and only tools that read', async () => {
  assert.equal(vscode.workspace.isTrusted, false);
  const told = await until('a server that runs', async () => [await debugInformation()].find((it) => it.includes('; running')));
  assert.match(told, /\/server\/aside \(bundled\); running; workspace not trusted/);
  assert.ok(!told.includes('(setting)') && !told.includes('(PATH)'), told);
  assert.match(read('.vscode/settings.json'), /nowhere/, 'a setting of the workspace names another model');
  const thread = await ask('Run it');
  await ended(thread);
  await says(thread, 'It did not run.');
});

test('trust that is granted reaches the server', async () => {
  require('node:fs').appendFileSync(process.env.ASIDE_TEST_RESULT, '# to be trusted\n');
  await until('trust', () => vscode.workspace.isTrusted);
  await vscode.workspace.getConfiguration('aside').update('assistant.model', undefined, vscode.ConfigurationTarget.Workspace);
  const thread = await ask('Run it again');
  await until('the permission to ask for', () => aside().prompts.some((it) => it.preview?.kind === 'command'));
  await withModal('Run Once', () => run('aside.answerQuestion'));
  await ended(thread);
  await says(thread, 'It ran.');
});

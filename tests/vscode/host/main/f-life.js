const { ask, aside, assert, complaints, debugInformation, ended, fs, instead, path, prompt, run, says, show, test, textOf, turnTo, until, useServer, vscode, withModal } = require('../kit');

/** The process of the server: the only child of the extension host that is one. */
function serverPid() {
  const pids = fs.readdirSync('/proc').filter((it) => /^\d+$/.test(it));
  return pids.map(Number).find((pid) => {
    try {
      const [, parent] = /^PPid:\s*(\d+)$/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
      return Number(parent) === process.pid && fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('\0lsp\0');
    } catch {
      return false;
    }
  });
}

async function crash() {
  const pid = await until('the server', serverPid);
  process.kill(pid, 'SIGKILL');
  await until('its end', () => serverPid() !== pid);
}

test('a question outlives the server: it is started again in silence, and the turn goes on with the answer', async () => {
  const thread = await ask('Wait for me');
  const waiting = await prompt('Still there?');
  await crash();
  await says(thread, 'The server ended. The turn can be resumed.');
  const again = await until('the same prompt', () => aside().prompts.find((it) => it.promptId === waiting.promptId && it.resumable));
  assert.equal(again.text, 'Still there?');
  const input = await turnTo('pick');
  assert.match(input.title, /: Still there\?$/);
  await run('workbench.action.quickOpenSelectNext');
  await until('its first choice', () => input.activeItems[0]?.label === 'Yes');
  await run('workbench.action.acceptSelectedQuickOpenItem');
  await says(thread, 'You are still there.');
  await ended(thread);
  assert.deepEqual(complaints, []);
});

test('a server that ends while it is written to is started again too', async () => {
  const { document } = await show('notes.md');
  const pid = await until('the server', serverPid);
  process.kill(pid, 'SIGSTOP');
  const change = new vscode.WorkspaceEdit();
  change.insert(document.uri, new vscode.Position(0, 0), 'More than a pipe holds. '.repeat(100_000));
  await vscode.workspace.applyEdit(change);
  await run('workbench.action.files.revert');
  process.kill(pid, 'SIGKILL');
  await until('another server', async () => ![undefined, pid].includes(serverPid()) && (await debugInformation()).includes('; running'));
  assert.deepEqual(complaints, []);
});

test('a command that is approved when its server has ended does not run, and waits for an answer again', async () => {
  const thread = await ask('Delete everything once more');
  const { promptId } = await prompt('rm -rf');
  const again = () => until('its prompt, to be resumed', () => aside().prompts.some((it) => it.promptId === promptId && it.resumable));
  const said = [];
  const late = () => (message, options) => (options?.modal ? crash().then(again).then(() => 'Run Once') : Promise.resolve(void said.push(message)));
  await instead('showWarningMessage', late, () => run('aside.answerQuestion'));
  assert.deepEqual(said, ['Aside: the answer to “Run this command?” came too late and was not sent. What still waits is in the status bar.']);
  assert.deepEqual(aside().prompts.map((it) => [it.promptId, it.resumable]), [[promptId, true]]);
  await withModal('No', async () => {
    await run('aside.answerQuestion');
    await ended(thread);
  });
  assert.match(textOf(thread), /⊘/);
});

test('after five restarts it says that the server is not started again, and the command starts it', async () => {
  await run('aside.restartServer');
  for (let n = 1; n <= 5; n++) {
    await crash();
    await until(`restart ${n}`, async () => serverPid() && (await debugInformation()).includes('; running'));
  }
  assert.deepEqual(complaints, []);
  await crash();
  await until('the complaint', () => complaints.length);
  assert.deepEqual(complaints, ['The Aside server ended 6 times in a short time, so it is not started again.']);
  complaints.length = 0;
  assert.equal(serverPid(), undefined);
  const thread = await ask('Question me again');
  await ended(thread, 'failed');
  assert.match(textOf(thread), /does not run; start it with the command/);
  await run('aside.restartServer');
  await until('the server', async () => (await debugInformation()).includes('; running'));
});

test('a server that ends before it is ready is not started again', async () => {
  const starts = path.join(vscode.workspace.workspaceFolders[0].uri.fsPath, 'starts');
  const ending = path.join(vscode.workspace.workspaceFolders[0].uri.fsPath, 'ending');
  fs.writeFileSync(ending, `#!/bin/sh\n[ "$1" = --version ] && echo aside 1.0 && exit\necho once >>'${starts}'\nexit 3\n`, { mode: 0o755 });
  await vscode.workspace.getConfiguration('aside').update('server.path', ending, vscode.ConfigurationTarget.Global);
  await until('the complaint', () => complaints.length);
  assert.deepEqual(complaints, ['The Aside server did not start; its log has the reason.']);
  complaints.length = 0;
  await useServer(process.env.ASIDE);
  assert.equal(fs.readFileSync(starts, 'utf8'), 'once\n');
  assert.deepEqual(complaints, []);
});

test('without a server that runs it says so, with every place and the reason', async () => {
  const broken = path.join(vscode.workspace.workspaceFolders[0].uri.fsPath, 'broken');
  fs.writeFileSync(broken, '#!/bin/sh\necho something else 1.0\n', { mode: 0o755 });
  const settings = vscode.workspace.getConfiguration('aside');
  await settings.update('server.path', broken, vscode.ConfigurationTarget.Global);
  await until('the complaint', () => complaints.length);
  assert.deepEqual(complaints, ['Aside found no server that runs. Set aside.server.path, or put aside on your PATH.']);
  complaints.length = 0;
  const told = await debugInformation();
  assert.match(told, /server: not found; stopped; workspace trusted/);
  assert.ok(told.includes(`tried: ${broken} (setting): it is not aside`), told);
  assert.match(told, /tried: \/.*\/server\/aside \(bundled\): there is no such file/);
  assert.match(told, /tried: \/usr\/bin\/aside \(PATH\): there is no such file/);
  await useServer(process.env.ASIDE);
});

test('a workspace’s settings come as the workspace’s, and never as the user’s', async () => {
  const settings = vscode.workspace.getConfiguration('aside');
  await settings.update('conversation.mode', 'auto', vscode.ConfigurationTarget.Workspace);
  await run('aside.restartServer');
  const thread = await ask('Delete everything in auto');
  await prompt('rm -rf');
  await run('aside.skipQuestion', { promptId: aside().prompts[0].promptId });
  await ended(thread, '');
  await settings.update('conversation.mode', undefined, vscode.ConfigurationTarget.Workspace);
});

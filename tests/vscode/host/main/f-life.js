const { execFileSync } = require('node:child_process');
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

/** The process of a server that is ready. One that was killed is no child that is a server, and before another is ready nothing runs. */
const ready = () =>
  until('a server that is ready', async () => {
    const pid = serverPid();
    return (await debugInformation()).includes('; running') && serverPid() === pid && pid;
  });

async function crash() {
  const pid = await ready();
  process.kill(pid, 'SIGKILL');
  await until('its end', () => serverPid() !== pid);
}

function lives(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A server that runs a script of the shell before it begins, and `starts`, the processes that it was so far. */
function program(name, script) {
  const file = path.join(vscode.workspace.workspaceFolders[0].uri.fsPath, name);
  const log = `${file}.starts`;
  fs.rmSync(log, { force: true });
  fs.writeFileSync(file, `#!/bin/sh\n[ "$1" = --version ] && exec '${process.env.ASIDE}' --version\necho $$ >>'${log}'\nstart="$(wc -l <'${log}')"\n${script}\nexec '${process.env.ASIDE}' "$@"\n`, { mode: 0o755 });
  const starts = () => (fs.existsSync(log) ? fs.readFileSync(log, 'utf8').match(/^\d+(?=\n)/gm) ?? [] : []).map(Number);
  return { file, starts, started: (count) => until(`start ${count} of ${name}`, () => starts()[count - 1]) };
}

/** It hears nothing, not even that nobody is there any more. */
const HANGS = 'exec sleep 100000';
const setServer = (file) => vscode.workspace.getConfiguration('aside').update('server.path', file, vscode.ConfigurationTarget.Global);

test('a question outlives the server: it is started again in silence, and the turn goes on with the answer', async () => {
  const thread = await ask('Wait for me');
  const waiting = await prompt('Still there?');
  await crash();
  await says(thread, 'The server ended here.');
  const again = await until('the same prompt', () => aside().prompts.find((it) => it.promptId === waiting.promptId && it.resumable));
  assert.equal(again.text, 'Still there?');
  const input = await turnTo('pick');
  assert.match(input.title, /: Still there\?$/);
  await run('workbench.action.quickOpenSelectNext');
  await until('its first choice', () => input.activeItems[0]?.label === 'Yes');
  // No key counts for what has just come.
  await until('the answer', async () => {
    await run('workbench.action.acceptSelectedQuickOpenItem');
    return aside().prompts.length === 0;
  });
  await says(thread, 'You are still there.');
  await ended(thread);
  assert.deepEqual(complaints, []);
});

test('what a terminal answered waits no more as soon as one turns to it', async () => {
  const thread = await ask('Wait for me');
  const { promptId, conversationId } = await prompt('Still there?');
  await crash();
  await until('the same prompt', () => aside().prompts.find((it) => it.promptId === promptId && it.resumable));
  await ready();
  const model = vscode.workspace.getConfiguration('aside').get('assistant.model');
  const cwd = vscode.workspace.workspaceFolders[0].uri.fsPath;
  const said = execFileSync(process.env.ASIDE, ['run', '--model', model, '--resume', '-c', conversationId, '--answer', `${promptId}=true`], { cwd, encoding: 'utf8' });
  assert.match(said, /You are still there\./);
  await run('aside.answerQuestion');
  await until('the complaint', () => complaints.length);
  assert.match(complaints[0], /nothing to resume/);
  complaints.length = 0;
  await until('no prompt', () => aside().prompts.length === 0);
  await ended(thread);
  await says(thread, 'You are still there.');
});

test('a server that ends while it is written to is started again too', async () => {
  const { document } = await show('notes.md');
  const pid = await ready();
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

test('a server that ends before it is ready again is not started once more, and the person is told', async () => {
  const { file, starts, started } = program('again', '[ "$start" = 2 ] && exit 3');
  await useServer(file);
  await crash();
  await until('the complaint', () => complaints.length);
  assert.deepEqual(complaints, ['The Aside server did not start; its log has the reason.']);
  complaints.length = 0;
  assert.match(await debugInformation(), /; stopped;/);
  await run('aside.restartServer');
  assert.equal(await ready(), await started(3));
  for (let n = 1; n <= 5; n++) await crash();
  assert.equal(await ready(), await started(8));
  assert.equal(starts().length, 8);
  assert.deepEqual(complaints, []);
  await useServer(process.env.ASIDE);
});

test('a restart while the server is started again leaves the new one alone', async () => {
  const { file, started } = program('slow-again', `[ "$start" = 2 ] && ${HANGS}`);
  await useServer(file);
  await crash();
  const hanging = await started(2);
  await run('aside.restartServer');
  assert.equal(lives(hanging), false);
  assert.equal(await ready(), await started(3));
  await useServer(process.env.ASIDE);
  assert.deepEqual(complaints, []);
});

test('a server that does not come up is stopped, started again, and left for another one', async () => {
  const { file, starts, started } = program('hanging', HANGS);
  await setServer(file);
  const first = await started(1);
  const asked = ask('Question me again');
  await until('the question', () => aside().threads.some((it) => textOf(it).includes('Question me again')));
  await run('aside.stopServer');
  assert.equal(lives(first), false);
  const thread = await asked;
  await ended(thread, 'failed');
  assert.match(textOf(thread), /does not run; start it with the command/);
  void run('aside.restartServer');
  const second = await started(2);
  void run('aside.restartServer');
  const third = await started(3);
  await until('the end of the second', () => !lives(second));
  await useServer(process.env.ASIDE);
  assert.equal(lives(third), false);
  assert.equal(starts().length, 3);
  assert.deepEqual(complaints, []);
});

test('what the program started does not keep it from being stopped', async () => {
  const { file, started } = program('holding', 'sleep 100000 & echo $! >>"$0.held"; wait');
  await setServer(file);
  const pid = await started(1);
  const held = await until('its child', () => fs.existsSync(`${file}.held`) && Number(fs.readFileSync(`${file}.held`, 'utf8')));
  await run('aside.stopServer');
  assert.equal(lives(pid), false);
  await useServer(process.env.ASIDE);
  process.kill(held);
  assert.deepEqual(complaints, []);
});

test('a server that hangs while it runs is stopped too', async () => {
  const pid = await ready();
  process.kill(pid, 'SIGSTOP');
  await run('aside.stopServer');
  assert.equal(lives(pid), false);
  await run('aside.restartServer');
  assert.notEqual(await ready(), pid);
  assert.deepEqual(complaints, []);
});

test('a server that is not ready after half a minute is ended, and the person is told', async () => {
  const { file, starts, started } = program('late', HANGS);
  const timers = [];
  const real = global.setTimeout;
  global.setTimeout = (act, after, ...more) => (after === 30_000 && timers.push(act), real(act, after, ...more));
  try {
    await setServer(file);
    const pid = await started(1);
    for (const act of timers) act();
    await until('the complaint', () => complaints.length);
    assert.deepEqual(complaints, ['The Aside server did not start; its log has the reason.']);
    complaints.length = 0;
    await until('its end', () => !lives(pid));
  } finally {
    global.setTimeout = real;
  }
  await useServer(process.env.ASIDE);
  assert.equal(starts().length, 1);
});

test('settings that change while the server starts count for its first turn', async () => {
  const { file, started } = program('waiting', 'while [ ! -e "$0.go" ]; do sleep 0.05; done');
  await setServer(file);
  await started(1);
  const settings = vscode.workspace.getConfiguration('aside');
  await settings.update('conversation.mode', 'plan', vscode.ConfigurationTarget.Global);
  const asked = ask('Delete everything in plan');
  fs.writeFileSync(`${file}.go`, '');
  const thread = await asked;
  await ended(thread);
  await says(thread, 'Not in this mode.');
  await settings.update('conversation.mode', undefined, vscode.ConfigurationTarget.Global);
  await useServer(process.env.ASIDE);
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

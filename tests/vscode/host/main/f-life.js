const { execFileSync } = require('node:child_process');
const { ask, aside, assert, complaints, debugInformation, ended, fs, path, prompt, run, says, test, textOf, turnTo, until, useServer, vscode } = require('../kit');

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
  assert.equal(input.placeholder, 'Still there?');
  await run('workbench.action.quickOpenSelectNext');
  await until('its first choice', () => input.activeItems[0]?.label === 'Yes');
  await run('workbench.action.acceptSelectedQuickOpenItem');
  await says(thread, 'You are still there.');
  await ended(thread);
  assert.deepEqual(complaints, []);
});

test('after five restarts it says that the server is not started again, and the command starts it', async () => {
  for (let n = 2; n <= 5; n++) {
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

test('an extension host that starts the server waits little longer than the server itself', async () => {
  const own = [];
  const ours = [];
  for (let n = 0; n < 5; n++) {
    const begun = performance.now();
    execFileSync(process.env.ASIDE, ['--version']);
    const initialize = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { capabilities: {} } });
    const frames = [initialize, '{"jsonrpc":"2.0","method":"initialized","params":{}}', '{"jsonrpc":"2.0","id":2,"method":"shutdown"}', '{"jsonrpc":"2.0","method":"exit"}'];
    execFileSync(process.env.ASIDE, ['lsp', '--stdio'], { input: frames.map((it) => `Content-Length: ${it.length}\r\n\r\n${it}`).join('') });
    own.push(performance.now() - begun);
    await run('aside.stopServer');
    const start = performance.now();
    await run('aside.restartServer');
    ours.push(performance.now() - start);
  }
  const [least, most] = [Math.min(...own), Math.min(...ours)];
  assert.ok(most - least < 150, `${most} ms, the server alone ${least} ms`);
  return `ready after ${most.toFixed(0)} ms, the server alone ${least.toFixed(0)} ms`;
});

const p99 = (all) => all.sort((a, b) => a - b)[Math.floor(all.length * 0.99)].toFixed(1);

/** How late a timer of 10 ms is, while something goes on. */
async function slips(during) {
  const late = [];
  let due = performance.now() + 10;
  const timer = setInterval(() => {
    late.push(Math.max(0, performance.now() - due));
    due = performance.now() + 10;
  }, 10);
  await during();
  clearInterval(timer);
  return late;
}

test('the extension host keeps its time while 20,000 pieces stream', async () => {
  const found = [];
  // A machine that does something else at the time may be late once; three times it is the extension.
  for (let n = 0; n < 3 && !found.some(({ slip }) => slip <= 50); n++) {
    let thread;
    const busy = await slips(async () => {
      thread = await ask('Say 20,000 pieces');
      await ended(thread);
    });
    const idle = await slips(() => new Promise((resolve) => setTimeout(resolve, 1_000)));
    assert.match(textOf(thread), /piece 01000 of a long answer/);
    found.push({ slip: p99(busy), ticks: busy.length, still: p99(idle) });
  }
  const { slip, ticks, still } = found.at(-1);
  assert.ok(slip <= 50, `p99 ${JSON.stringify(found)}`);
  return `p99 ${slip} ms over ${ticks} ticks; without Aside ${still} ms`;
});

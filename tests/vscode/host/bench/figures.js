const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { ask, aside, assert, ended, path, run, test, textOf, vscode } = require('../kit');
const { slip, times, told } = require('../figures');

/** The server alone: its version, and from its start to its answer to `initialize`. */
async function alone() {
  const begun = performance.now();
  await once(spawn(process.env.ASIDE, ['--version'], { stdio: 'ignore' }), 'exit');
  const server = spawn(process.env.ASIDE, ['lsp', '--stdio'], { stdio: ['pipe', 'pipe', 'ignore'] });
  const initialize = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { capabilities: {} } });
  server.stdin.write(`Content-Length: ${initialize.length}\r\n\r\n${initialize}`);
  await once(server.stdout, 'data');
  const took = performance.now() - begun;
  server.kill();
  return took;
}

async function started() {
  await run('aside.stopServer');
  const begun = performance.now();
  await run('aside.restartServer');
  return performance.now() - begun;
}

/** Reads and runs the extension's file, as its host does before it activates it. */
async function loaded() {
  const file = require.resolve(path.join(vscode.extensions.getExtension('aside.aside').extensionPath, 'dist/extension.js'));
  const kept = require.cache[file];
  delete require.cache[file];
  const begun = performance.now();
  require(file);
  const took = performance.now() - begun;
  require.cache[file] = kept;
  return took;
}

test('from activation to ready', async () => {
  const [load, start, own] = [await times(20, loaded), await times(20, started), await times(20, alone)];
  const beyond = start.map((it, at) => it + load[at] - own[at]);
  return ['', `reading the extension: ${told(load)}`, `the server found and ready: ${told(start)}`, `the server alone: ${told(own)}`, `beyond the server’s own time: ${told(beyond)}; it should be under 150 ms`].join('\n#   ');
});

test('how late a timer of 10 ms is while 20,000 pieces stream', async () => {
  const all = await times(7, () =>
    slip(async () => {
      const thread = await ask('Say 20,000 pieces');
      await ended(thread);
      assert.match(textOf(thread), /piece 01000 of a long answer/);
      await run('aside.closeThread', thread);
    }),
  );
  return `\n#   p99 while pieces stream: ${told(all)}; it should be at most 50 ms`;
});

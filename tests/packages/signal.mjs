// A launcher that is told to end ends its program, and then ends as the program itself does: signal.mjs LAUNCHER PROGRAM
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';

const body = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { processId: null, rootUri: null, capabilities: {} },
});

/** Starts a server without a terminal, tells it to end once it has answered, and returns how it ended and what it had started. */
async function ended(file, signal) {
  const started = spawn(file, ['lsp', '--stdio'], { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  const end = new Promise((resolve) => started.once('exit', (code, signal) => resolve({ code, signal })));
  started.stdin.write(`Content-Length: ${body.length}\r\n\r\n${body}`);
  await new Promise((resolve) => started.stdout.once('data', resolve));
  const children = fs.readFileSync(`/proc/${started.pid}/task/${started.pid}/children`, 'utf8');
  started.kill(signal);
  return { children: children.split(' ').filter(Boolean), end: await end };
}

const [launcher, program] = process.argv.slice(2);
for (const signal of ['SIGTERM', 'SIGINT']) {
  const launched = await ended(launcher, signal);
  assert.equal(launched.children.length, 1, 'the launcher starts one program');
  assert.ok(!fs.existsSync(`/proc/${launched.children[0]}`), `the program outlived its launcher after ${signal}`);
  assert.deepEqual(launched.end, (await ended(program, signal)).end, signal);
}

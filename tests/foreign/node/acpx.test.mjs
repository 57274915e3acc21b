// Aside under acpx, a client for scripts: what it is allowed, what it is not, and a session that another process goes on with.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

import { Client } from './acp.mjs';

const ACPX = join(process.env.FOREIGN_NODE, 'node_modules/.bin/acpx');

// It is written for Node.js 22 and runs on 20.
const SKIP = { skip: parseInt(process.versions.node) < 20 };

// Runs acpx with these arguments in a place of its own each time that `play` says so.
function withAcpx(play) {
  return () => {
    const client = new Client(() => assert.fail('acpx has its own person'));
    const acpx = (...given) => {
      const agent = ['--agent', `${process.env.ASIDE} acp`, '--cwd', client.workspace, '--ttl', '1'];
      const run = spawnSync(ACPX, [...agent, ...given], { cwd: client.workspace, env: client.env, timeout: 30_000 });
      return { code: run.status, said: String(run.stdout), error: String(run.stderr) };
    };
    try {
      play(client, acpx);
    } finally {
      client.end();
    }
  };
}

test('acpx: an edit that is allowed', SKIP, withAcpx((client, acpx) => {
  const { code, said, error } = acpx('--approve-all', '--format', 'json', 'exec', 'Write it');
  assert.equal(code, 0, error);
  assert.equal(client.read('new.md'), 'new\n');
  const frames = said.trim().split('\n').map((line) => JSON.parse(line));
  const asked = frames.filter((it) => it.method === 'session/request_permission');
  assert.equal(asked.length, 1);
  assert.equal(asked[0].params.toolCall.content[0].newText, 'new\n');
  assert.deepEqual(frames.at(-1).result, { stopReason: 'end_turn' });
}));

test('acpx: an edit that is not', SKIP, withAcpx((client, acpx) => {
  const { code, said } = acpx('--deny-all', '--format', 'text', 'exec', 'Write it');
  // Its own code for a turn in which all was refused.
  assert.equal(code, 5, said);
  assert.ok(!client.has('new.md') && said.includes('did not allow'), said);
}));

test('acpx: a question, which it cannot show, is not asked', SKIP, withAcpx((client, acpx) => {
  const { code, said } = acpx('--approve-all', '--format', 'text', 'exec', 'Choose one');
  assert.equal(code, 0, said);
  assert.ok(said.includes('Nobody is there.'), said);
}));

test('acpx: a session that was made before is gone on with in another process, and is listed', SKIP, withAcpx((client, acpx) => {
  const made = acpx('--format', 'json', 'sessions', 'new', '--name', 'mine');
  assert.equal(made.code, 0, made.error);
  const { acpxSessionId } = JSON.parse(made.said);
  const turn = acpx('--approve-all', '--format', 'text', 'prompt', '-s', 'mine', 'Write it');
  assert.equal(turn.code, 0, turn.error);
  assert.equal(client.read('new.md'), 'new\n');
  const listed = acpx('sessions', 'list');
  assert.ok(listed.said.includes(acpxSessionId) && listed.said.includes('Write it'), listed.said);
}));

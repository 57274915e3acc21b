// A first run without a key: node first.mjs CODE_SERVER FOLDER EXTENSIONS NAME
// The ways to a model, a key that is typed once, and where it is then. The provider is a server of this test.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

import { command, until } from './editor.mjs';
import { emptied, folder, lane, startWindow } from './window.mjs';

const work = emptied(`first-${lane}`);
const workspace = path.join(work, 'project');
fs.mkdirSync(workspace);
fs.writeFileSync(path.join(workspace, 'one.ts'), 'export const one = 1;\nexport const two = 2;\n');
const git = (...args) => execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], { cwd: workspace });
git('init', '--quiet');
git('add', '.');
git('commit', '--quiet', '--message', 'one');
fs.writeFileSync(path.join(workspace, 'one.ts'), 'export const one = 1;\nexport const two = 22;\nexport const three = 3;\n');

const [RIGHT, WRONG, OTHER] = ['right', 'wrong', 'other'].map((it) => `sk-ant-${it}-0123456789`);
const events = [
  { type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage: { input_tokens: 9, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello from the provider.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
];
const keys = [];
let body = '';
/** Answers that are not given yet. */
const held = [];
const provider = http.createServer((request, response) => {
  body = '';
  request.on('data', (piece) => (body += piece));
  request.on('end', () => {
    keys.push(request.headers['x-api-key']);
    if (request.headers['x-api-key'] !== RIGHT) {
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } }));
    } else if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"data":[],"has_more":false}');
    } else {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const answer = () => response.end(events.map((it) => `event: ${it.type}\ndata: ${JSON.stringify(it)}\n\n`).join(''));
      if (body.includes('Are you slow?')) held.push(answer);
      else answer();
    }
  });
});
await new Promise((ready) => provider.listen(0, '127.0.0.1', ready));

const home = `home-first-${lane}`;
const window = await startWindow({
  name: `first-${lane}`,
  workspace,
  first: 'one.ts',
  size: { width: 1440, height: 900 },
  // Nobody listens where an Ollama would.
  environment: { OLLAMA_HOST: '127.0.0.1:1' },
  settings: { 'aside.providers': { anthropic: { base_url: `http://127.0.0.1:${provider.address().port}` } }, 'aside.trace.server': 'verbose', 'git.enabled': true, 'aside.mcp.servers': { gears: { command: 'python3', args: [path.join(process.env.ASIDE_MEDIA, '../mcp/server.py'), 'plain'] } } },
});
const { page, thread, quickInput, box, see, open, select, ask, test, end } = window;
fs.mkdirSync(path.join(folder, lane), { recursive: true });
const picture = (name) => page.screenshot({ path: path.join(folder, lane, `first-${name}.png`) });
const toast = page.locator('.notification-toast');
const inside = page.frameLocator('iframe.webview').frameLocator('#active-frame');
const row = (text) => quickInput.locator('.monaco-list-row').filter({ hasText: text }).first();

/** Types a key of Anthropic, in the box that hides it. */
async function type(key) {
  await row('anthropic').click();
  const input = quickInput.locator('input[type=password]');
  await input.waitFor();
  await input.fill(key);
  await page.keyboard.press('Enter');
}

/** Whether a file below a folder has a text. */
function has(where, text) {
  return fs.readdirSync(where, { withFileTypes: true }).some((it) => {
    const file = path.join(where, it.name);
    if (it.isDirectory()) return has(file, text);
    return it.isFile() && fs.readFileSync(file).includes(text);
  });
}

await test('where there is no model, the view has a button for each way to one', async () => {
  await command(page, 'Aside: New Conversation');
  await see(inside.locator('.lacking'), 'There is no model yet.');
  assert.deepEqual(await inside.locator('.lacking button').allInnerTexts(), ['Enter a Key…', 'Get Ollama', 'Take the Tour']);
  await picture('view');
});

await test('the first question leads to a box for a key; a wrong one is told, and leads to another; then the question is answered', async () => {
  await command(page, 'View: Show Explorer');
  await select('one.ts', 1, 0);
  await ask('Are you there?');
  await see(toast, 'There is no model yet.');
  await picture('ways');
  await toast.locator('.monaco-button', { hasText: 'Enter a Key…' }).click();
  await type(WRONG);
  await see(toast, 'rejected the API key from the editor');
  await picture('wrong');
  await toast.locator('.monaco-button', { hasText: 'Enter Another Key…' }).click();
  await see(row('anthropic'), 'has a key from the editor');
  await type(OTHER);
  await see(toast, 'rejected the API key from the editor');
  // Once it is gone, the thread leads there as well.
  await command(page, 'Notifications: Clear All Notifications');
  await toast.waitFor({ state: 'detached' });
  await thread.getByRole('button', { name: 'Enter a Key…' }).click();
  await type(RIGHT);
  await see(thread, 'Hello from the provider.');
  await thread.getByRole('button', { name: 'Enter a Key…' }).waitFor({ state: 'detached' });
  assert.deepEqual([...new Set(keys)], [WRONG, OTHER, RIGHT]);
  await picture('answered');
});

await test('the key is there when the window is loaded again, and what is not committed goes along', async () => {
  const before = keys.length;
  await page.reload({ waitUntil: 'commit' });
  await page.locator('.comment-thread, .editor-instance .view-line').first().waitFor();
  await page.locator('[id="status.languageStatus"]').waitFor({ timeout: 120_000 });
  await select('one.ts', 2, 0);
  await ask('And now, with @diff?');
  await until('the answer', async () => (await thread.allInnerTexts()).some((it) => it.includes('And now') && it.includes('Hello from the provider.')), 60_000);
  assert.deepEqual([...new Set(keys.slice(before))], [RIGHT]);
  assert.match(body, /\+export const three = 3;/, 'what is not committed goes along');
});

await test('beside the left side of a diff its own text goes along', async () => {
  await open('one.ts');
  await command(page, 'Git: Open Changes');
  const left = page.locator('.monaco-diff-editor .editor.original');
  await left.locator('.view-line').filter({ hasText: 'two = 2;' }).click();
  await left.locator('.monaco-editor.focused').waitFor();
  await command(page, 'Aside: Ask');
  await left.locator('.review-widget .comment-form .monaco-editor.focused').waitFor();
  await page.keyboard.insertText('What was this?');
  await page.keyboard.press('Control+Enter');
  await see(left.locator('.review-widget'), 'Hello from the provider.');
  const asked = JSON.stringify(JSON.parse(body).messages);
  assert.match(asked, /two = 2;/);
  assert.doesNotMatch(asked, /two = 22/);
  await picture('left');
  await page.keyboard.press('Control+F4');
});

await test('a wrong key is mended in the view, too', async () => {
  const fails = inside.locator('.turn').last();
  await command(page, 'Aside: Enter a Key…');
  await type(WRONG);
  await command(page, 'Aside: New Conversation');
  await inside.locator('textarea').waitFor();
  await inside.locator('textarea').click();
  await page.keyboard.insertText('Are you here?');
  await page.keyboard.press('Control+Enter');
  await see(fails, 'rejected the API key');
  await command(page, 'Notifications: Clear All Notifications');
  await picture('mended');
  await fails.getByRole('button', { name: 'Enter a Key…' }).click();
  await type(RIGHT);
  await see(fails, 'Hello from the provider.');
  assert.equal(await fails.getByRole('button', { name: 'Enter a Key…' }).count(), 0);
  await command(page, 'View: Show Explorer');
});

await test('the key is in no file, and not in the environment or the arguments of a process', async () => {
  for (const where of [path.join(folder, home), workspace]) assert.ok(!has(where, RIGHT), where);
  for (const pid of fs.readdirSync('/proc').filter((it) => /^\d+$/.test(it)))
    for (const of of ['environ', 'cmdline']) {
      let known = '';
      try {
        known = fs.readFileSync(`/proc/${pid}/${of}`, 'utf8');
      } catch {
        // It has ended, or is another user's.
      }
      assert.ok(!known.includes(RIGHT), `${of} of ${pid}`);
    }
});

await test('a key that is forgotten is asked for again, and the tour answers and gives the model back at its end', async () => {
  await select('one.ts', 3, 0);
  await ask('Are you slow?');
  await until('the request', () => held.length, 20_000);
  await command(page, 'Aside: Enter a Key…');
  await row('Forget the key of anthropic').click();
  await quickInput.waitFor({ state: 'hidden' });
  await command(page, 'Aside: Enter a Key…');
  await row('anthropic').waitFor();
  assert.doesNotMatch(await row('anthropic').innerText(), /has a key/);
  await page.keyboard.press('Escape');
  await command(page, 'Aside: New Conversation');
  await inside.locator('textarea').waitFor();
  await see(inside.locator('.tools button'), 'Model: none');
  await see(inside.locator('.lacking'), 'There is no model yet.');
  await command(page, 'Aside: Take the Tour');
  await see(inside.locator('.tools button'), 'Model: The tour');
  assert.match(await inside.locator('textarea').getAttribute('placeholder'), /^Write anything: the tour answers/);
  await inside.locator('textarea').click();
  await page.keyboard.insertText('Show me around');
  await page.keyboard.press('Control+Enter');
  await see(inside.locator('.prompt'), 'What shall the tour leave behind?');
  // A turn of before the tour ends, which is none of its own.
  const slow = thread.filter({ hasText: 'Are you slow?' });
  held[0]();
  await see(slow, 'Hello from the provider.');
  await see(slow.locator('.head'), 'done');
  await see(inside.locator('.tools button'), 'Model: The tour');
  await page.waitForTimeout(600); // A click right after a question came counts for nothing.
  await inside.locator('.prompt .answers button').first().click();
  await see(inside.locator('.prompt'), 'aside-tour.md');
  await command(page, 'Aside: Review Changes');
  await see(page.locator('.tab.active'), 'aside-tour.md');
  await page.waitForTimeout(600); // No key counts for what has just come.
  await page.keyboard.press('Control+Enter');
  await see(inside.locator('.turn').last(), 'That was the tour.');
  await see(inside.locator('.tools button'), 'Model: none');
});

await test('MCP servers are listed with their state, turned off and on, and show their tools', async () => {
  const chosen = async (text) => {
    await row(text).click();
    await row(text).waitFor({ state: 'hidden' });
  };
  await command(page, 'Aside: MCP Servers…');
  await see(row('gears'), 'tools, about');
  assert.equal(await quickInput.locator('input.input').getAttribute('placeholder'), 'A server to turn on or off, or to look at');
  await picture('servers');
  await row('gears').click();
  await chosen('Turn Off');
  await see(row('gears'), 'off');
  await row('gears').click();
  await chosen('Turn On');
  await see(row('gears'), 'tools, about');
  await row('gears').click();
  await chosen('Show Its Tools and Its Log');
  await see(page.locator('.tab.active'), 'gears.txt');
  await see(page.locator('.editor-instance .view-line'), 'gears__echo');
});

provider.close();
await end();

// A window whose server does not come up, and that is closed: node closing.mjs CODE_SERVER FOLDER EXTENSIONS
// The server hears nothing, not even that nobody is there any more; so whoever started it has to end it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { command, openPage, startBrowser, startEditor, until } from './editor.mjs';

const [codeServer, folder, extensions] = process.argv.slice(2);
const work = path.join(folder, 'closing');
const workspace = path.join(work, 'workspace');
const hanging = path.join(folder, 'hanging');
const log = `${hanging}.starts`;
fs.rmSync(log, { force: true });
fs.writeFileSync(hanging, `#!/bin/sh\n[ "$1" = --version ] && exec '${process.env.ASIDE}' --version\necho $$ >>'${log}'\nexec sleep 100000\n`, { mode: 0o755 });

const editor = await startEditor({ codeServer, folder: work, extensions, settings: { 'aside.server.path': hanging } });
fs.mkdirSync(workspace);
const browser = await startBrowser();

const lives = (pid) => fs.existsSync(`/proc/${pid}`);
const starts = () => (fs.existsSync(log) ? fs.readFileSync(log, 'utf8').match(/^\d+(?=\n)/gm) ?? [] : []);
const started = (count) => until(`start ${count}`, () => starts()[count - 1], 120_000);
const ended = (pid) => until(`the end of process ${pid}`, () => !lives(pid), 20_000);

let page;
async function test(name, run) {
  const begun = Date.now();
  try {
    await run();
    console.log(`ok ${name} (${Date.now() - begun} ms)`);
  } catch (error) {
    console.log(`not ok ${name}\n${String(error.stack).replace(/^/gm, '    ')}`);
    await page.screenshot({ path: path.join(folder, 'failed-closing.png') }).catch(() => console.log('    (the window is closed)'));
  }
}

await test('a server that does not come up in a new window is stopped and started again by commands', async () => {
  page = await openPage(browser, editor.origin, workspace);
  const first = await started(1);
  await command(page, 'Aside: Stop Server');
  await ended(first);
  assert.equal(starts().length, 1);
  await command(page, 'Aside: Restart Server');
  assert.ok(lives(await started(2)));
});

await test('a window that is loaded again while its server starts leaves no process behind', async () => {
  await page.reload({ waitUntil: 'commit' });
  await ended(starts()[1]);
  assert.ok(lives(await started(3)));
});

await test('a window that is closed while its server starts leaves no process behind', async () => {
  await page.close({ runBeforeUnload: true });
  await ended(starts()[2]);
  assert.equal(starts().length, 3);
});

await test('a setting that names no server that runs is told of, and the server of the extension is used', async () => {
  fs.writeFileSync(path.join(work, 'data/User/settings.json'), JSON.stringify({ 'aside.server.path': '/nowhere/aside' }));
  page = await openPage(browser, editor.origin, workspace);
  const told = page.locator('.notification-toast').filter({ hasText: 'aside.server.path names no server that runs (/nowhere/aside: there is no such file)' });
  await told.waitFor({ timeout: 120_000 });
  await told.getByRole('button', { name: 'Open the Setting' }).click();
  await page.locator('.settings-editor').waitFor({ timeout: 60_000 });
});

console.log('end');
await browser.close();
editor.end();
for (const pid of starts().filter(lives)) process.kill(pid, 'SIGKILL');

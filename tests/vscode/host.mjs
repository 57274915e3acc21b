// Runs a lane of the tests inside the extension host: node host.mjs CODE_SERVER FOLDER EXTENSION LANE
import fs from 'node:fs';
import path from 'node:path';

import { command, openPage, startBrowser, startEditor, until } from './editor.mjs';

const [codeServer, folder, extension, lane] = process.argv.slice(2);
const work = path.join(folder, `host-${lane}`);
const workspace = path.join(folder, `workspace-${lane}`);
const result = path.join(folder, `${lane}.txt`);
fs.rmSync(result, { force: true });
fs.rmSync(workspace, { recursive: true, force: true });
const copyTo = (to) => fs.cpSync(new URL('given/workspace', import.meta.url), to, { recursive: true });
// The lane “folders” has two of them, with the same files.
const several = lane === 'folders' ? path.join(workspace, 'both.code-workspace') : undefined;
for (const name of several ? ['one', 'two'] : ['.']) copyTo(path.join(workspace, name));
if (several) fs.writeFileSync(several, JSON.stringify({ folders: [{ path: 'one' }, { path: 'two' }] }));

/** A provider that has a key, and does not answer: what is known of its models is listed. */
const PROVIDER = { ANTHROPIC_API_KEY: 'none', ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' };
const trusted = lane !== 'untrusted';
if (!trusted) {
  fs.mkdirSync(path.join(workspace, '.vscode'));
  fs.writeFileSync(path.join(workspace, '.vscode/settings.json'), '{ "aside.assistant.model": "rehearsal/nowhere" }');
}

const script = lane === 'bench' ? path.join(folder, 'bench.toml') : new URL(`given/scripts/${lane}.toml`, import.meta.url).pathname;
if (lane === 'bench') {
  const text = Array.from({ length: 1000 }, (_, at) => `piece ${String(at + 1).padStart(5, '0')} of a long answer.\\n${at % 10 === 9 ? '\\n' : ''}`).join('');
  fs.writeFileSync(script, `[[reply]]\nrepeat = true\nwhen = { user = "Say 20,000 pieces" }\nsay = [{ text = "${text}", pieces = 20000 }]\n`);
}
const editor = await startEditor({
  codeServer,
  folder: work,
  extensions: path.join(folder, 'no-extensions'),
  trust: trusted,
  settings: { 'aside.server.path': process.env.ASIDE, 'aside.assistant.model': `rehearsal/${script}` },
  environment: { ...PROVIDER, ASIDE_SANDBOX: 'off', ASIDE_TEST_RESULT: result, ASIDE_TEST_LANE: lane, ASIDE_TEST_ONLY: process.env.ONLY ?? '', ASIDE: process.env.ASIDE, ASIDE_ASKING: process.env.ASIDE_ASKING, ASIDE_MEDIA: process.env.ASIDE_MEDIA },
});
const browser = await startBrowser();
const remote = `vscode-remote://${editor.origin}`;
const page = await openPage(browser, editor.origin, workspace, {
  several,
  payload: [
    ['extensionDevelopmentPath', `${remote}${extension}`],
    ['extensionTestsPath', `${remote}${extension}/test/index.js`],
  ],
});
const read = () => (fs.existsSync(result) ? fs.readFileSync(result, 'utf8') : '');
try {
  if (!trusted) {
    await until('the untrusted workspace', () => /^# to be trusted$/m.test(read()), 240_000);
    await command(page, 'Workspaces: Manage Workspace Trust');
    await page.locator('.workspace-trust-editor').getByRole('button', { name: 'Trust', exact: true }).click();
  }
  await until('the end of the tests', () => /^end$/m.test(read()), 420_000);
} catch (error) {
  fs.appendFileSync(result, `not ok ${error.message}\n`);
  await page.screenshot({ path: path.join(folder, `${lane}.png`) });
}
process.stdout.write(read());
await browser.close();
editor.end();

// Runs a lane of the tests inside the extension host: node host.mjs CODE_SERVER FOLDER EXTENSION LANE
import fs from 'node:fs';
import path from 'node:path';

import { openPage, startBrowser, startEditor, until } from './editor.mjs';

const [codeServer, folder, extension, lane] = process.argv.slice(2);
const work = path.join(folder, `host-${lane}`);
const workspace = path.join(folder, 'workspace');
const result = path.join(folder, `${lane}.txt`);
fs.rmSync(result, { force: true });
fs.rmSync(workspace, { recursive: true, force: true });
fs.cpSync(new URL('given/workspace', import.meta.url), workspace, { recursive: true });

const script = new URL(`given/scripts/${lane}.toml`, import.meta.url).pathname;
const editor = await startEditor({
  codeServer,
  folder: work,
  extensions: path.join(folder, 'no-extensions'),
  settings: { 'aside.server.path': process.env.ASIDE_SERVER, 'aside.assistant.model': `rehearsal/${script}` },
  environment: { ASIDE_TEST_RESULT: result, ASIDE_TEST_LANE: lane, ASIDE_TEST_ONLY: process.env.ONLY ?? '', ASIDE: process.env.ASIDE, ASKING: process.env.ASKING },
});
const browser = await startBrowser();
const remote = `vscode-remote://${editor.origin}`;
const page = await openPage(browser, editor.origin, workspace, {
  payload: [
    ['extensionDevelopmentPath', `${remote}${extension}`],
    ['extensionTestsPath', `${remote}${extension}/test/index.js`],
  ],
});
const read = () => (fs.existsSync(result) ? fs.readFileSync(result, 'utf8') : '');
try {
  await until('the end of the tests', () => /^end$/m.test(read()), 180_000);
} catch (error) {
  fs.appendFileSync(result, `not ok ${error.message}\n`);
  await page.screenshot({ path: path.join(folder, `${lane}.png`) });
}
process.stdout.write(read());
await browser.close();
editor.end();

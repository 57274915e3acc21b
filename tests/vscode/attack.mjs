// Texts of a model that try to get out of the view, on its real renderer in Chromium: node attack.mjs CODE_SERVER FOLDER EXTENSIONS
// Each is generated from pieces of HTML, links and markdown; TEXTS says how many. The page has the policy of the view's own.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

import { startBrowser } from './editor.mjs';

const [, folder] = process.argv.slice(2);
const COUNT = Number(process.env.TEXTS ?? 4_000);
const source = fs.readFileSync(path.join(folder, 'extension/src/view.ts'), 'utf8');
const [, given] = /const policy = `([^`]+)`/.exec(source);
const policy = given.replace('${nonce}', 'n').replace('${webview.cspSource}', "'self'");
const script = fs.readFileSync(path.join(folder, 'attack.js'));
const asked = [];
const server = http.createServer((request, response) => {
  asked.push(request.url);
  const files = { '/': ['text/html', `<!DOCTYPE html><meta http-equiv="Content-Security-Policy" content="${policy}"><main></main><script nonce="n" src="/attack.js"></script>`], '/attack.js': ['text/javascript', script] };
  const [type, body] = files[request.url] ?? ['text/plain', ''];
  response.writeHead(files[request.url] ? 200 : 404, { 'content-type': type }).end(body);
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const origin = `http://127.0.0.1:${server.address().port}`;
const browser = await startBrowser();
const page = await browser.newPage();
const said = [];
page.on('request', (request) => said.push(request.url()));
page.on('dialog', (dialog) => (said.push('a dialog'), dialog.dismiss()));

async function test(name, run) {
  const begun = Date.now();
  try {
    const note = await run();
    console.log(`ok ${name} (${Date.now() - begun} ms)${note ? ` # ${note}` : ''}`);
  } catch (error) {
    console.log(`not ok ${name}\n${String(error.stack).replace(/^/gm, '    ')}`);
  }
}

await page.goto(origin);
await test('no text of a model makes an element that runs, loads or leads anywhere', async () => {
  const { bad, links, elements } = await page.evaluate((count) => window.attack(count), COUNT);
  assert.deepEqual(bad, []);
  assert.ok(links > COUNT / 20 && elements > COUNT, `${links} links, ${elements} elements: the texts try something`);
  assert.deepEqual(said.filter((it) => it !== `${origin}/` && !it.endsWith('/attack.js') && !it.endsWith('/favicon.ico')), [], 'nothing was asked for');
  return `${COUNT} texts, ${elements} elements, ${links} links`;
});

await test('the policy of the page stops a script, an image, a style, a frame and a text that is read as HTML', async () => {
  const tried = await page.evaluate(() => window.trespass());
  assert.deepEqual(tried, { script: 'stopped', handler: 'stopped', image: 'stopped', style: 'stopped', frame: 'stopped', fetch: 'stopped', html: 'stopped', eval: 'stopped' });
});

console.log('end');
await browser.close();
server.close();

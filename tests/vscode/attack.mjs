// Texts of a model that try to get out of the view, on its real renderer in Chromium: node attack.mjs CODE_SERVER FOLDER EXTENSIONS
// Each is generated from pieces of HTML, links and markdown; TEXTS says how many. The page is the view's own, with its policy and style.
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
const style = fs.readFileSync(path.join(folder, 'extension/view/view.css'));
const stub = 'window.acquireVsCodeApi = () => ({ postMessage() {}, getState() {}, setState() {} });';
const asked = [];
const server = http.createServer((request, response) => {
  asked.push(request.url);
  const files = { '/': ['text/html', `<!DOCTYPE html><meta http-equiv="Content-Security-Policy" content="${policy}"><link rel="stylesheet" href="/view.css"><main></main><script nonce="n">${stub}</script><script nonce="n" src="/attack.js"></script>`], '/attack.js': ['text/javascript', script], '/view.css': ['text/css', style] };
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
  assert.deepEqual(said.filter((it) => it !== `${origin}/` && !/\/(attack\.js|view\.css)$/.test(it) && !it.endsWith('/favicon.ico')), [], 'nothing was asked for');
  return `${COUNT} texts, ${elements} elements, ${links} links`;
});

for (const [width, height] of [[300, 700], [760, 600]])
  await test(`no text of a model leaves its box in a view that is ${width} px wide`, async () => {
    await page.setViewportSize({ width, height });
    const { bad, elements } = await page.evaluate((count) => window.boxes(count), COUNT / 2);
    assert.deepEqual(bad, []);
    assert.ok(elements > COUNT, `${elements} elements`);
    return `${COUNT / 2} texts, ${elements} elements measured`;
  });

await test('the policy of the page stops a script, an image, a style, a frame and a text that is read as HTML', async () => {
  const tried = await page.evaluate(() => window.trespass());
  assert.deepEqual(tried, { script: 'stopped', handler: 'stopped', image: 'stopped', style: 'stopped', frame: 'stopped', fetch: 'stopped', html: 'stopped', eval: 'stopped' });
});

console.log('end');
await browser.close();
server.close();

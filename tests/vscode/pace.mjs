// How soon what the server sends is on the screen, and what typing costs meanwhile: node pace.mjs CODE_SERVER FOLDER EXTENSIONS NAME
// The real server is started through a pipe that notes when each numbered piece left it. Nothing here passes or fails.
import fs from 'node:fs';
import path from 'node:path';

import { command, until } from './editor.mjs';
import { emptied, folder, lane, startWindow } from './window.mjs';

/** Milliseconds between two pieces of the model, and the number of them: ten seconds each. */
const PACES = [15, 20, 40, 80].map((ms) => ({ ms, pieces: Math.round(10_000 / ms) }));
const TYPED = 'the quick brown fox jumps over the lazy dog ';

const work = emptied(`pace-${lane}`);
const workspace = path.join(work, 'project');
fs.mkdirSync(workspace);
// Each thread has a file of its own.
for (const name of ['typed', 'first', ...PACES.map(({ ms }) => `every${ms}`)]) fs.writeFileSync(path.join(workspace, `${name}.ts`), `// ${name}\n`.repeat(40));
const script = path.join(work, 'pace.toml');
const numbered = (count) => Array.from({ length: count }, (_, n) => `#${String(n + 1).padStart(4, '0')}${n % 20 === 19 ? '.\\n\\n' : ' of it '}`).join('');
const reply = ({ ms, pieces }) => `[[reply]]\nrepeat = true\nwhen = { user = "Every ${ms} ms" }\npiece_delay_ms = ${ms}\nsay = [{ text = "${numbered(pieces)}", pieces = ${pieces} }]\n`;
fs.writeFileSync(script, PACES.map(reply).join('\n'));

const left = path.join(work, 'left.txt');
const pipe = path.join(work, 'aside');
fs.writeFileSync(
  pipe,
  `#!${process.execPath}
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const server = spawn(${JSON.stringify(process.env.ASIDE)}, process.argv.slice(2), { stdio: ['pipe', 'pipe', 'inherit'] });
const note = fs.openSync(${JSON.stringify(left)}, 'a');
process.stdin.pipe(server.stdin);
server.stdout.on('data', (data) => {
  const found = [...data.toString('latin1').matchAll(/#(\\d{4})/g)].at(-1);
  if (found) fs.writeSync(note, Date.now() + ' ' + Number(found[1]) + '\\n');
});
server.stdout.pipe(process.stdout);
server.on('exit', (code) => process.exit(code ?? 1));
`,
);
fs.chmodSync(pipe, 0o755);

const { page, thread, box, see, select, end } = await startWindow({ name: `pace-${lane}`, workspace, script, first: 'typed.ts', size: { width: 1440, height: 900 }, settings: { 'aside.server.path': pipe } });
const inside = page.frameLocator('iframe.webview').frameLocator('#active-frame');

const at = (all, part) => Math.round([...all].sort((a, b) => a - b)[Math.ceil(all.length * part) - 1] ?? NaN);
const told = (all) => `median ${at(all, 0.5)} ms, 95 of 100 within ${at(all, 0.95)} ms, most ${at(all, 1)} ms (${all.length})`;

/** Notes in a page which piece is the last in what is selected, and when; what it gives is called to end that. */
async function watch(where, selected) {
  await where.evaluate((_, all) => {
    const seen = (window.asideSeen = { at: [], last: 0 });
    const look = () => {
      const shown = [...document.querySelectorAll(all)].at(-1)?.textContent ?? '';
      const last = Number(/.*#(\d{4})/s.exec(shown)?.[1] ?? 0);
      if (last !== seen.last) seen.at.push([Date.now(), last]);
      seen.last = last;
    };
    seen.timer = setInterval(look, 5);
  }, selected);
  return () =>
    where.evaluate(() => {
      clearInterval(window.asideSeen.timer);
      return window.asideSeen.at;
    });
}

/** From each piece that left the server until it was shown, and between two growths. */
function figures(seen, pieces) {
  const all = fs.readFileSync(left, 'utf8').trim().split('\n').map((it) => it.split(' ').map(Number));
  // What is sent again at the end is no piece.
  const sent = all.filter(([, piece], at) => at === 0 || piece > all[at - 1][1]);
  const latencies = sent.flatMap(([time, piece]) => seen.find(([, last]) => last >= piece)?.[0] - time || []);
  const gaps = seen.slice(1).map(([time], n) => time - seen[n][0]);
  const longest = gaps.indexOf(Math.max(...gaps));
  return `${sent.at(-1)?.[1]} of ${pieces} pieces; from the server to the screen: ${told(latencies)}; between two growths: ${told(gaps)}, the longest ${seen[longest][0] - seen[0][0]} ms after the first`;
}

/** From a key to its character in the editor, in ms. */
async function typing(count) {
  await page.evaluate(() => {
    const seen = (window.asideTyped = []);
    let pressed;
    const whole = () => document.querySelector('.editor-instance .view-lines').textContent;
    let before = whole();
    window.addEventListener('keydown', () => (pressed = performance.now()), true);
    new MutationObserver(() => {
      const now = whole();
      if (now !== before && pressed !== undefined) {
        seen.push(performance.now() - pressed);
        pressed = undefined;
      }
      before = now;
    }).observe(document.querySelector('.editor-instance .view-lines'), { subtree: true, childList: true, characterData: true });
  });
  for (let n = 0; n < count; n++) await page.keyboard.press(TYPED[n % TYPED.length] === ' ' ? 'Space' : TYPED[n % TYPED.length], { delay: 20 });
  return page.evaluate(() => window.asideTyped);
}

/**
 * The first box of a window is the first markdown in it, for which VS Code loads its own extensions into the host of all: `bench` prints
 * how long that stops a host without Aside. It is over before a person has written a message, so the first one here takes some time, too.
 */
const FIRST = { ms: 20, pieces: 500, file: 'first.ts', name: 'the first thread of a window, after a message that was written for 3 s', written: 3_000 };
for (const { ms, pieces, file = `every${ms}.ts`, name = 'a thread', written = 0 } of [FIRST, ...PACES]) {
  fs.writeFileSync(left, '');
  await select(file, 3, 0);
  const ended = await watch(page.locator('body'), '.review-widget .comment-body');
  await command(page, 'Aside: Ask');
  await box.waitFor();
  await page.keyboard.insertText(`Every ${ms} ms`);
  await page.waitForTimeout(written);
  await page.keyboard.press('Control+Enter');
  await see(thread.locator('.head'), 'done');
  await until('all of it', async () => (await thread.last().innerText()).includes(`#${String(pieces).padStart(4, '0')}`), 10_000);
  console.log(`# ${name}, a piece every ${ms} ms: ${figures(await ended(), pieces)}`);
}

for (const { ms, pieces } of PACES) {
  fs.writeFileSync(left, '');
  await command(page, 'Aside: New Conversation');
  await inside.locator('textarea').waitFor();
  await inside.locator('.turn').first().waitFor({ state: 'detached' });
  const ended = await watch(inside.locator('body'), '.turn:last-child .parts');
  await inside.locator('textarea').click();
  await page.keyboard.insertText(`Every ${ms} ms`);
  await page.keyboard.press('Control+Enter');
  await until('its end', async () => (await inside.locator('.turn').last().innerText()).includes(`Every ${ms} ms`) && (await inside.locator('.turn').last().locator('footer').innerText()).includes('done'), 60_000);
  console.log(`# the view, a piece every ${ms} ms: ${figures(await ended(), pieces)}`);
}

await command(page, 'View: Show Explorer');
await select('typed.ts', 1, 0);
console.log(`# a key in an editor, while nothing is written: ${told(await typing(150))}`);
await command(page, 'Aside: Focus on Conversation View');
await inside.locator('textarea').click();
await page.keyboard.insertText('Every 20 ms');
await page.keyboard.press('Control+Enter');
await until('the answer', async () => (await inside.locator('.turn').last().innerText()).includes('#0010'), 60_000);
await command(page, 'View: Show Explorer');
await select('typed.ts', 1, 0);
console.log(`# a key in an editor, while an answer is written in the view: ${told(await typing(150))}`);
// Behind the files the view is not drawn.
await command(page, 'Aside: Focus on Conversation View');
await until('its end', async () => (await inside.locator('.turn').last().locator('footer').innerText()).includes('done'), 60_000);
await end();

// A day's work of somebody new, with VS Code's own settings: node day.mjs CODE_SERVER FOLDER EXTENSIONS NAME
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { command, until } from './editor.mjs';
import { emptied, folder, lane, startWindow } from './window.mjs';

const work = emptied(`day-${lane}`);
const workspace = path.join(work, 'project');
fs.mkdirSync(workspace);
const NAMES = ['one', 'two'];
const CHANGED = [5, 40, 75];
const source = (name, changed = []) => Array.from({ length: 80 }, (_, n) => `export const ${name}${n + 1} = ${changed.includes(n + 1) ? `${n + 1}00` : n + 1};\n`).join('');
for (const name of [...NAMES, 'three']) fs.writeFileSync(path.join(workspace, `${name}.ts`), source(name));
fs.writeFileSync(path.join(workspace, 'notes.md'), '# Notes\n');
const read = (name) => fs.readFileSync(path.join(workspace, `${name}.ts`), 'utf8');

const script = path.join(work, 'day.toml');
const given = fs.readFileSync(new URL('given/scripts/day.toml', import.meta.url), 'utf8');
fs.writeFileSync(script, given.replaceAll(/BLOCKS_(\w+)/g, (_, name) => source(name, CHANGED).replaceAll('\n', '\\n')).replace('PLACES', source('three', [5]).replace('= 20;', '= ;').replaceAll('\n', '\\n')).replace('MUCH', 'and more\\n'.repeat(50)));

const file = (name) => new URL(name, import.meta.url).pathname;
const settings = {
  'aside.conversation.tools': { kinds: { source: 'local', command: ['python3', file('given/kinds.py')], description: 'Asks each kind.', run: 'unattended' }, gears__ask: { run: 'unattended' }, gears__echo: { run: 'unattended' } },
};
const machine = {
  'aside.mcp.servers': {
    gears: { command: 'python3', args: [path.join(process.env.ASIDE_MEDIA, '../mcp/server.py'), 'plain'] },
    broken: { command: 'python3', args: ['-c', 'raise SystemExit("no database")'] },
  },
};
const window = await startWindow({ name: `day-${lane}`, workspace, script, first: 'notes.md', size: { width: 1440, height: 900 }, settings, machine });
const { page, status, thread, quickInput, see, select, ask, test, end } = window;
const insideOf = (of) => of.frameLocator('iframe.webview').frameLocator('#active-frame');
const inside = insideOf(page);
const box = inside.locator('textarea');
const turn = inside.locator('.turn').last();
const prompt = inside.locator('.prompt');
const rows = (of) => of.locator('.sidebar .monaco-list-row');
const count = (of, number, what) => until(what, async () => (await of.count()) === number, 20_000);
fs.mkdirSync(path.join(folder, lane), { recursive: true });
const picture = (name) => page.screenshot({ path: path.join(folder, lane, `day-${name}.png`) });

async function fresh() {
  await command(page, 'Aside: New Conversation');
  await count(inside.locator('.turn'), 0, 'the empty view');
}
async function say(text) {
  await box.fill(text);
  await page.keyboard.press('Control+Enter');
}
/** Asks beside a line of a file, which is opened in the Explorer. */
async function askAt(name, line, message) {
  await command(page, 'View: Show Explorer');
  await select(name, line, 0);
  await ask(message);
}
async function press(name) {
  await page.waitForTimeout(600); // A click right after a question came counts for nothing.
  await prompt.getByRole('button', { name, exact: true }).first().click();
}

await test('a server that does not start is told of once, and no terminal is named', async () => {
  await fresh();
  await say('Hello');
  await see(turn, 'The tools of the MCP server broken are unavailable');
  await see(turn.locator('footer'), 'done');
  assert.doesNotMatch(await turn.innerText(), /aside mcp list/);
  await say('And again');
  await count(inside.locator('.turn'), 2, 'the second turn');
  await see(turn.locator('footer'), 'done');
  assert.doesNotMatch(await turn.innerText(), /unavailable/);
});

await test('what the model called in a wrong way is told without the words that are for it', async () => {
  await fresh();
  await say('Ask in a wrong way');
  await see(turn, 'That is all.');
  await see(turn, 'ask_user failed, and the model was told why.');
  assert.doesNotMatch(await turn.innerText(), /Invalid arguments/);
});

await test('each kind of question is answered in the view; one to type in says what it expects, and why a text is no answer', async () => {
  await fresh();
  await say('Ask each kind');
  await see(prompt, 'Shall the cart be emptied?');
  await press('Yes');
  await see(prompt, 'Which currency?');
  await press('CHF');
  await see(prompt, 'Which parts?');
  await say('cart, price, stock');
  await see(inside.locator('.compose .problem'), 'is not 1 to 2 of cart, price, stock');
  assert.equal(await page.locator('.notification-toast').count(), 0, 'it is told where the text is');
  await say('cart, stock');
  await see(prompt, 'What is the name of the shop?');
  await press('Type It…');
  await see(quickInput, 'What is the name of the shop?');
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText('Baker');
  await page.keyboard.press('Enter');
  await see(prompt, 'How many lines at most?');
  await page.keyboard.press('Escape');
  await see(prompt, 'Expected: a whole number between 1 and 99.');
  for (const name of ['Type It…', 'Decline with a Note…', 'Skip']) await prompt.getByRole('button', { name }).waitFor();
  await picture('number');
  await say('many');
  await see(inside.locator('.compose .problem'), '“many” is not a whole number between 1 and 99');
  assert.equal(await box.inputValue(), 'many');
  await say('12');
  await see(prompt, 'A note for the log?');
  assert.equal(await inside.locator('.compose .problem').innerText(), '');
  await press('Leave It Out');
  await see(turn.locator('footer'), 'done');
  const said = await turn.innerText();
  for (const it of ['emptied? → yes', 'currency? → CHF', 'parts? → cart, stock', 'shop? → Baker', 'most? → 12', 'log? → left out']) assert.ok(said.includes(it), `${it} in ${said}`);
});

await test('each kind of question is answered in a thread', async () => {
  await askAt('one.ts', 3, 'Ask each kind');
  const reply = async (question, text) => {
    await see(thread, question);
    await page.waitForTimeout(600); // No key counts for what has just come.
    await page.keyboard.press('Escape');
    await thread.locator('.review-thread-reply-button:visible').last().click();
    await window.box.waitFor();
    await page.keyboard.insertText(text);
    await page.keyboard.press('Control+Enter');
  };
  await reply('Shall the cart be emptied?', 'yes');
  await reply('Which currency?', 'chf');
  await reply('Which parts?', 'cart, stock');
  await reply('What is the name of the shop?', 'Baker');
  await see(thread, 'How many lines at most?');
  await see(thread, 'Expected: a whole number between 1 and 99.');
  await reply('How many lines at most?', '12');
  await see(thread, 'A note for the log?');
  await page.waitForTimeout(600);
  await thread.locator('a', { hasText: 'Leave It Out' }).click();
  await see(thread.locator('.head'), 'done');
});

await test('a question that comes while the person types in the view takes no key', async () => {
  await askAt('one.ts', 20, 'Ask twice');
  await see(status, '1 question');
  await status.click();
  await see(quickInput, 'Ship it today?');
  await page.keyboard.press('ArrowDown');
  await page.waitForTimeout(600); // No key counts for what has just come.
  await page.keyboard.press('Enter');
  await quickInput.waitFor({ state: 'hidden' });
  await command(page, 'Aside: Focus on Conversation View');
  await box.click();
  await page.keyboard.type('I write');
  await see(status, '1 question');
  await see(thread, 'Which colour?');
  await page.keyboard.type(' on');
  assert.equal(await box.inputValue(), 'I write on');
  assert.equal(await quickInput.isVisible(), false);
  await box.fill('');
  await page.waitForTimeout(600); // A click right after a question came counts for nothing.
  await thread.locator('a', { hasText: 'red' }).click();
  await status.filter({ hasText: 'question' }).waitFor({ state: 'detached' });
});

await test('a mode that is picked while a turn runs says that it holds after it; the buttons are two rows at most', async () => {
  await fresh();
  await say('Wait for me');
  await see(prompt, 'Which sign?');
  await inside.getByRole('button', { name: 'Mode: ask' }).click();
  await quickInput.locator('.monaco-list-row').filter({ hasText: 'edits' }).first().click();
  await inside.getByRole('button', { name: 'Mode: edits (after this turn)' }).waitFor();
  const width = await inside.locator('body').evaluate((it) => it.clientWidth);
  assert.ok(width < 310, `${width} px`);
  const tops = await inside.locator('.compose .tools button').evaluateAll((all) => new Set(all.map((it) => it.getBoundingClientRect().top)).size);
  assert.ok(tops <= 2, `${tops} rows`);
  await picture('narrow');
  await press('round');
  await inside.getByRole('button', { name: 'Mode: edits', exact: true }).waitFor();
  await inside.getByRole('button', { name: 'Mode: edits' }).click();
  await quickInput.locator('.monaco-list-row').filter({ hasText: 'ask' }).first().click();
});

await test('blocks of two files are accepted and rejected one by one, and the tab that was looked at is there afterwards', async () => {
  await fresh();
  await command(page, 'View: Close All Editors');
  await command(page, 'View: Show Explorer');
  await page.locator('.explorer-folders-view .monaco-list-row').filter({ hasText: 'notes.md' }).click();
  await page.locator('.tab.active.italic, .tab.active .italic').filter({ hasText: 'notes.md' }).first().waitFor();
  await command(page, 'Aside: Focus on Conversation View');
  await say('Change in blocks');
  await see(status, '2 questions');
  await status.click();
  await see(page.locator('.tab.active'), 'Aside’s changes (2 files)');
  const entry = (name) => page.locator('.multiDiffEntry').filter({ hasText: `${name}.ts` }).first();
  const lens = (name, title) => entry(name).locator('.codelens-decoration a').filter({ hasText: title });
  await lens('one', 'Accept Block').nth(2).waitFor();
  await lens('one', 'Accept Block').nth(0).click();
  await lens('one', '✓ Accepted').waitFor();
  await lens('one', 'Reject Block').nth(1).click();
  await lens('one', '✗ Rejected').waitFor();
  await lens('one', 'Accept Block').nth(1).click();
  await see(status, '1 question');
  const want = (name, taken) => until(`${name}.ts`, () => read(name) === source(name, taken), 20_000);
  await want('one', [5, 75]);
  await entry('two').scrollIntoViewIfNeeded();
  await lens('two', 'Reject Block').nth(0).click();
  await lens('two', '✗ Rejected').waitFor();
  await picture('blocks');
  await page.keyboard.press('Control+Enter');
  await want('two', [40, 75]);
  await see(turn.locator('footer'), 'done');
  await see(page.locator('.tab'), 'notes.md');
});

await test('a change is accepted beside its diff in the view, by the mouse and by the keyboard; one that is not whole there is not', async () => {
  await fresh();
  const accept = prompt.getByRole('button', { name: 'Accept', exact: true });
  await say('Change the heading');
  await see(prompt, 'Edit notes.md');
  await accept.waitFor();
  await picture('accept');
  await press('Accept');
  await until('the change', () => fs.readFileSync(path.join(workspace, 'notes.md'), 'utf8') === '# Notes of today\n', 20_000);
  await see(turn.locator('footer'), 'done');
  await say('Change it back');
  await see(prompt, 'Edit notes.md');
  await page.waitForTimeout(600); // No key counts for what has just come.
  await box.focus();
  await until('the button', async () => (await page.keyboard.press('Alt+ArrowUp'), await accept.evaluate((it) => it === document.activeElement)), 10_000);
  await page.keyboard.press('Enter');
  await until('the change', () => fs.readFileSync(path.join(workspace, 'notes.md'), 'utf8') === '# Notes\n', 20_000);
  await see(turn.locator('footer'), 'done');
  assert.equal(await page.locator('.tab').filter({ hasText: 'Aside’s change' }).count(), 0, 'no review was opened');
  await say('Write much');
  await see(prompt, '10 lines more');
  await prompt.getByRole('button', { name: 'Show the Change' }).waitFor();
  assert.equal(await accept.count(), 0);
  await press('No');
  await see(turn.locator('.title'), '⊘ Create much.md · no (you)');
  await see(turn.locator('footer'), 'done');
});

await test('two changes of a file are one diff, in which each is decided; what a server for the language says is of one side alone', async () => {
  await fresh();
  await command(page, 'View: Close All Editors');
  await say('Change at two places');
  await see(status, '2 questions');
  await status.click();
  await see(page.locator('.tab.active'), 'three.ts – Aside’s change');
  const lens = (title) => page.locator('.codelens-decoration a').filter({ hasText: title });
  await lens('Accept Block').nth(2).waitFor();
  const problems = (text) => until(`${text} problems`, async () => (await page.locator('[id="status.problems"]').innerText()).trim().startsWith(text), 30_000);
  await problems('1');
  await lens('Reject Block').nth(2).click();
  await lens('✗ Rejected').waitFor();
  await problems('0');
  await picture('places');
  await lens('Accept Block').first().click();
  await see(status, '1 question');
  await see(page.locator('.codelens-decoration'), '✓ Accepted');
  await see(turn.locator('summary'), '+1 −1 · yes, once, with changes (you)');
  await lens('Reject Block').first().click();
  await until('what was accepted', () => read('three') === source('three', [5]), 20_000);
  await page.locator('.tab').filter({ hasText: 'Aside’s change' }).waitFor({ state: 'detached' });
  await see(turn.locator('footer'), 'done');
});

await test('what a tool of a server gave is shown, of a long line folded', async () => {
  await fresh();
  await say('Call a server');
  await see(turn.locator('.title'), 'Run echo of the server gears · {"word": "short"}');
  await say('Call it with more');
  await see(turn.locator('summary'), 'Output (1 line)');
  await turn.locator('summary').click();
  await see(turn.locator('details pre'), 'and so on and so on');
});

await test('a command that fails shows the end of what it printed', async () => {
  await fresh();
  await say('Run the tests');
  await see(prompt, 'Run this command?');
  await press('Run Once');
  await see(turn, 'That is all.');
  await see(turn.locator('.tail'), 'the total is wrong');
  await see(turn.locator('summary'), 'Output (13 lines)');
});

await test('a conversation in which a message is sent again is not like the one before in the list', async () => {
  await fresh();
  await say('Say it once');
  await see(turn.locator('footer'), 'done');
  await turn.getByRole('button', { name: 'Retry' }).click();
  await see(rows(page).filter({ hasText: 'Say it once' }), 'earlier version');
  await count(rows(page).filter({ hasText: 'Say it once' }), 2, 'both');
  await count(rows(page).filter({ hasText: 'earlier version' }), 1, 'the earlier one');
});

await test('a conversation that is renamed has its new title in the view, too', async () => {
  await fresh();
  await say('Say it by another name');
  await see(turn.locator('footer'), 'done');
  await rows(page).filter({ hasText: 'Say it by another name' }).first().click({ button: 'right' });
  const rename = page.locator('.monaco-menu .action-item').filter({ hasText: 'Rename' }).first();
  await rename.waitFor();
  // A click right after a menu came chooses nothing.
  await until('the box of its name', async () => (await quickInput.isVisible()) || void (await rename.click({ timeout: 1_000 }).catch(() => undefined)), 10_000);
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText('Its own name');
  await page.keyboard.press('Enter');
  await see(rows(page), 'Its own name');
  await see(inside.locator('h1'), 'Its own name');
});

await test('a second window of the workspace says what works in the first, and has what came of it', async () => {
  await fresh();
  await say('Wait for me in one window');
  await see(prompt, 'Which sign?');
  const second = await window.another();
  second.setDefaultTimeout(60_000);
  await second.locator('.explorer-folders-view .monaco-list-row').first().waitFor({ timeout: 120_000 });
  await command(second, 'Aside: Focus on Conversation View');
  const there = insideOf(second);
  await there.locator('textarea').waitFor();
  const row = rows(second).filter({ hasText: 'Wait for me in one window' }).first();
  await row.click();
  const last = there.locator('.turn').last();
  await see(last.locator('footer'), 'works in another window');
  assert.equal(await there.getByRole('button', { name: 'Resume' }).count(), 0);
  await there.locator('textarea').click();
  await second.keyboard.insertText('And here?');
  await second.keyboard.press('Control+Enter');
  await see(last, 'such as another window; go on there, or wait until its turn is over');
  await second.screenshot({ path: path.join(folder, lane, 'day-second.png') });
  await press('round');
  await see(turn.locator('footer'), 'done');
  await row.click();
  await see(there.locator('.turn'), 'Which sign? → round');
  await see(last, 'And here?');
  await second.context().close();
});

await test('a question of a server that was killed is gone once its turn was resumed', async () => {
  await fresh();
  await say('Let a server ask');
  await see(prompt, 'target');
  const lines = execFileSync('ps', ['-eo', 'pid,args']).toString().split('\n');
  const servers = lines.filter((it) => it.includes(`${workspace}`) || /server\/aside lsp/.test(it));
  const home = path.join(folder, `home-day-${lane}`);
  const pid = servers.map((it) => Number(it.trim().split(' ')[0])).find((it) => fs.readFileSync(`/proc/${it}/environ`, 'utf8').includes(`HOME=${home}`) && /lsp/.test(fs.readFileSync(`/proc/${it}/cmdline`, 'utf8')));
  process.kill(pid, 'SIGKILL');
  await see(turn.locator('footer'), 'interrupted');
  await see(prompt, 'target');
  await press('Resume, to Answer It…');
  await see(turn.locator('footer'), 'done');
  await prompt.waitFor({ state: 'detached' });
  await until('no question', async () => !/question/.test((await status.allInnerTexts()).join()), 20_000);
  await see(turn.locator('.title'), '✗ Run ask of the server gears');
  assert.equal(await turn.locator('.call').count(), 1);
});

await test('why a turn failed is there when its conversation is read again', async () => {
  await fresh();
  await say('Fail at this');
  await see(turn.locator('footer'), 'failed');
  await see(status, 'Aside: failed');
  assert.doesNotMatch(await inside.locator('.spent').innerText(), /tokens in/, 'nobody told how many');
  const said = 'This is too odd.';
  await see(turn, said);
  await page.reload({ waitUntil: 'commit' });
  await inside.locator('.turn').filter({ hasText: 'Fail at this' }).waitFor({ timeout: 120_000 });
  await see(turn, said);
});

await end();

// What a person does and sees, with the keyboard and the mouse: node story.mjs CODE_SERVER FOLDER EXTENSIONS NAME
// It plays the story of the README in the window, takes its pictures into FOLDER/NAME, and types while questions arrive.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { command, until } from './editor.mjs';
import { emptied, folder, lane, startWindow, typed } from './window.mjs';

const workspace = path.join(emptied(`story-${lane}`), 'demo');
const media = path.join(folder, lane);
fs.mkdirSync(media, { recursive: true });
fs.cpSync(new URL('given/demo', import.meta.url), workspace, { recursive: true });
const file = (name) => path.join(workspace, name);
const read = (name) => fs.readFileSync(file(name), 'utf8');
const script = new URL('given/scripts/story.toml', import.meta.url).pathname;
const { page, status, thread, quickInput, box, see, open, select, ask, test, end } = await startWindow({ name: lane, workspace, script, first: 'transfer.py' });
const picture = (name) => page.screenshot({ path: path.join(media, `${name}.png`) });
const lineOf = (name, text) => read(name).split('\n').indexOf(text) + 1;

/** Clicks into the text beside a line, as a person who reads on. */
async function clickText() {
  const line = page.locator('.editor-instance .view-line').nth(2);
  // A question that came up first lies over the text.
  await line.click({ timeout: 2000 }).catch(async () => {
    await page.keyboard.press('Escape');
    await line.click();
  });
  await page.locator('.editor-instance .monaco-editor.focused').first().waitFor();
}

await test('the answer is written beside the selected code, and a question waits in the thread and the status bar', async () => {
  await select('transfer.py', lineOf('transfer.py', 'def upload(name):'), 3);
  await ask('Make uploads try five times');
  await clickText();
  await see(thread, 'Make uploads try five times');
  await see(thread, 'I read both files first.');
  await see(thread, 'How long shall an upload wait before it tries again?');
  await see(thread, 'The store is unreachable for a moment when it restarts.');
  await see(status, 'Aside: 1 question');
  assert.ok(await quickInput.isHidden());
  await page.mouse.move(800, 200);
  await page.mouse.wheel(0, 190);
  await picture('thread');
});

await test('the status bar shows the question; Escape hides it, and it is answered the second time', async () => {
  await status.click();
  await see(quickInput, 'do not wait');
  await see(quickInput, 'Aside: How long shall an upload wait');
  await picture('question');
  await page.keyboard.press('Escape');
  await quickInput.waitFor({ state: 'hidden' });
  await see(status, 'Aside: 1 question');
  await status.click();
  await see(quickInput, '5 seconds');
  await page.keyboard.press('Enter');
  await see(status, 'Aside: 2 questions');
});

await test('both changes are one tab, with Accept and Reject above each block', async () => {
  await status.click();
  await see(page.locator('.tab.active'), 'Aside’s changes (2 files)');
  await page.locator('.multiDiffEntry').nth(1).waitFor();
  await see(page.locator('.multiDiffEntry'), 'transfer.py');
  await see(page.locator('.multiDiffEntry'), 'attempts = 5');
  await see(page.locator('.codelens-decoration'), 'Accept Block');
  await picture('changes');
});

await test('one file is accepted in the thread, the other rejected', async () => {
  const of = (name) => thread.locator('.review-comment').filter({ hasText: name }).last();
  await page.locator('.tab').filter({ hasText: 'transfer.py' }).first().click();
  await see(thread, 'settings.toml');
  await of('settings.toml').hover();
  await of('settings.toml').getByRole('button', { name: 'Reject the Change' }).click();
  await see(status, 'Aside: 1 question');
  await status.click();
  await see(page.locator('.tab.active'), 'transfer.py – Aside’s change');
  await see(page.locator('.codelens-decoration'), 'Reject Block');
  await picture('review');
  await page.getByRole('button', { name: 'Accept the Change' }).click();
  await status.waitFor({ state: 'hidden' });
  assert.match(read('transfer.py'), /attempts = 5/);
  assert.match(read('settings.toml'), /wait_seconds = 0/);
});

await test('the answer ends with its code in colours, and asking at the same place goes on in its thread', async () => {
  await page.locator('.tab').filter({ hasText: 'transfer.py' }).first().click();
  await see(thread, 'since you rejected that change.');
  await see(thread, 'Aside: done');
  await thread.locator('.monaco-tokenized-source span[class^=mtk]').first().waitFor();
  await picture('done');
  await select('transfer.py', lineOf('transfer.py', 'def upload(name):'), 3);
  await command(page, 'Aside: Ask');
  await thread.locator(':focus').first().waitFor();
  assert.equal(await thread.count(), 1);
});

await test('a picture that is pasted into a thread goes along with the message', async () => {
  await select('settings.toml', 1, 0);
  await command(page, 'Aside: Ask');
  await box.waitFor();
  await page.keyboard.insertText('What is this? ');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const png = fs.readFileSync(path.join(process.env.ASIDE_MEDIA, 'red.png'), 'base64');
  await page.evaluate((text) => {
    const bytes = Uint8Array.from(atob(text), (it) => it.charCodeAt(0));
    return navigator.clipboard.write([new ClipboardItem({ 'image/png': new Blob([bytes], { type: 'image/png' }) })]);
  }, png);
  await page.keyboard.press('Control+v');
  await see(box, '.png');
  await page.keyboard.press('Control+Enter');
  await see(thread, 'It is a red dot.');
});

await test('the list of conversations opens, renames, forks and deletes them, and says what they cost', async () => {
  const sideBar = page.locator('.sidebar');
  const row = (text) => sideBar.locator('.monaco-list-row').filter({ hasText: text });
  const menu = async (item, title) => {
    await item.click({ button: 'right' });
    // A menu takes no click right after it opened; its keys work at once.
    await page.locator('.context-view .action-item').filter({ hasText: title }).hover();
    await page.locator('.context-view .action-item.focused').filter({ hasText: title }).waitFor();
    await page.keyboard.press('Enter');
  };
  await page.locator('.activitybar .action-label[aria-label="Aside"]').click();
  await row('Make uploads try five times').hover();
  await see(page.locator('.monaco-hover'), 'tokens in');
  await picture('conversations');

  await menu(row('What is this?'), 'Rename Conversation');
  await quickInput.locator('input.input').fill('A red dot');
  await page.keyboard.press('Enter');
  await row('A red dot').waitFor();
  // Where the list is drawn anew meanwhile, VS Code does not say which row it was, and Aside asks.
  const act = async (title, done) => {
    await menu(row('A red dot').first(), title);
    const asked = quickInput.locator('.monaco-list-row').filter({ hasText: 'A red dot' }).first();
    await Promise.any([done.waitFor(), asked.waitFor()]);
    if (await asked.isVisible()) await asked.click();
    await done.waitFor();
  };
  await act('Fork Conversation', row('A red dot').nth(1));
  const deletes = page.locator('.monaco-dialog-box').getByRole('button', { name: 'Delete' });
  await act('Delete Conversation', deletes);
  await deletes.click();
  await row('A red dot').nth(1).waitFor({ state: 'detached' });
  await act('Open Conversation as Markdown', page.locator('.tab.active').filter({ hasText: 'A red dot.md' }));
  await see(page.locator('.editor-instance .view-line'), 'It is a red dot.');
  const view = page.frameLocator('iframe.webview').frameLocator('#active-frame');
  await row('Make uploads try five times').click();
  await see(view.locator('.turn'), 'Uploads now try five times');
  await picture('view');
  await page.locator('.activitybar .action-label[aria-label^="Explorer"]').click();
});

await test('the walkthrough has its four steps', async () => {
  await command(page, 'Open Walkthrough');
  await quickInput.locator('.monaco-list-row').filter({ hasText: 'Get started with Aside' }).first().click();
  const steps = page.locator('.getting-started-step');
  for (const title of ['Choose a model', 'Ask beside the code', 'Answer its questions', 'Review its changes']) await see(steps, title);
  await see(steps, 'The tour needs none: a script plays all four steps with you.');
  await picture('walkthrough');
});

await test('300 keys typed while questions and permissions arrive answer none, and leave the same text', async () => {
  const texts = [];
  for (const [name, message] of [['still.txt'], ['asked.txt', 'Ask and change while I type']]) {
    fs.writeFileSync(file(name), 'one\ntwo\nthree\n');
    await open(name);
    await page.keyboard.press('Control+End');
    if (message) {
      await ask(message);
      await clickText();
      await page.keyboard.press('Control+End');
    }
    for (const key of typed) await page.keyboard.press(key);
    if (message) await see(status, 'Aside: 5 questions');
    await page.keyboard.press('Control+s');
    texts.push(await until(`${name} on disk`, () => read(name) !== 'one\ntwo\nthree\n' && read(name), 10_000));
  }
  await picture('typed');
  assert.equal(texts[1], texts[0]);
  assert.ok(!fs.existsSync(file('typed.txt')));
  assert.match(read('settings.toml'), /wait_seconds = 0/);
  await see(status, 'Aside: 5 questions');
});

await test('a question that is on the screen stays there when the status bar is clicked', async () => {
  for (let n = 0; n < 2; n++) {
    await status.click();
    await see(quickInput, 'First?');
    // What the click took away would be gone by then.
    await page.waitForTimeout(1_000);
    assert.ok(await quickInput.isVisible());
  }
  await page.keyboard.press('Escape');
  await quickInput.waitFor({ state: 'hidden' });
});

await end();

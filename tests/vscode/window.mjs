// A window with a workspace and a script, and what a person does in it: startWindow({ lane, workspace, script, … }).
import fs from 'node:fs';
import path from 'node:path';

import { command, openPage, startBrowser, startEditor, until } from './editor.mjs';

export const [codeServer, folder, extensions, lane] = process.argv.slice(2);

/** Settings that make the text what the keys say. */
const TYPED = {
  'editor.quickSuggestions': { other: 'off', comments: 'off', strings: 'off' },
  'editor.wordBasedSuggestions': 'off',
  'editor.autoClosingBrackets': 'never',
  'editor.autoClosingQuotes': 'never',
  'workbench.tips.enabled': false,
};

/** Opens a window with a workspace; `script` is what the model says, if there is one, and `first` a file that is opened. */
export async function startWindow({ name, workspace, script, first, settings = {}, machine, environment, size }) {
  const editor = await startEditor({
    codeServer,
    node: process.env.EDITOR_NODE,
    folder: path.join(folder, `home-${name}`),
    extensions,
    environment,
    machine,
    settings: { ...(script && { 'aside.assistant.model': `rehearsal/${script}` }), ...TYPED, ...settings },
  });
  const browser = await startBrowser();
  const page = await openPage(browser, editor.origin, workspace, { size });
  page.setDefaultTimeout(60_000);

  const status = page.locator('#aside\\.aside\\.aside\\.status, .statusbar-item[id*="aside.status"]');
  const thread = page.locator('.review-widget');
  const quickInput = page.locator('.quick-input-widget');
  const box = thread.locator('.comment-form .monaco-editor.focused');
  const see = (what, text) => what.filter({ hasText: text }).first().waitFor();

  async function open(file) {
    const row = page.locator('.explorer-folders-view .monaco-list-row').filter({ hasText: file }).first();
    const isShown = () => row.waitFor({ timeout: 10_000 }).then(() => true, () => command(page, 'View: Show Explorer'));
    await until(`the explorer with ${file}`, isShown, 60_000);
    await row.dblclick();
    await see(page.locator('.tab.active'), file);
    await page.locator('.editor-instance .view-line').first().waitFor();
  }

  /** Goes to a line by the keyboard, and selects so many lines there. */
  async function select(file, from, count) {
    await open(file);
    await page.keyboard.press('Control+g');
    await quickInput.locator('input.input').fill(`:${from}`);
    await page.keyboard.press('Enter');
    await quickInput.waitFor({ state: 'hidden' });
    for (let n = 0; n < count; n++) await page.keyboard.press('Shift+ArrowDown');
  }

  /** Asks in the box of a new thread. */
  async function ask(message) {
    await command(page, 'Aside: Ask');
    await box.waitFor();
    await page.keyboard.insertText(message);
    await page.keyboard.press('Control+Enter');
  }

  let failed = 0;
  const only = (process.env.ONLY ?? '').split('|');
  async function test(title, run) {
    if (!only.some((part) => title.includes(part))) return;
    const begun = Date.now();
    try {
      const note = await run();
      console.log(`ok ${title} (${Date.now() - begun} ms)${note ? ` # ${note}` : ''}`);
    } catch (error) {
      failed++;
      console.log(`not ok ${title}\n${String(error.stack).replace(/^/gm, '    ')}`);
      await page.screenshot({ path: path.join(folder, `failed-${name}-${failed}.png`) });
      // What was told may say why.
      for (const keys of ['Control+k', 'Control+Shift+n']) await page.keyboard.press(keys).catch(() => undefined);
      for (const told of await page.locator('.notifications-center .notification-list-item-message').allInnerTexts()) console.log(`    told: ${told}`);
      await page.keyboard.press('Escape');
    }
  }

  async function end() {
    console.log('end');
    await browser.close();
    editor.end();
  }

  /** A second window of the same workspace. */
  const another = () => openPage(browser, editor.origin, workspace, { size });

  await page.locator('.explorer-folders-view .monaco-list-row').first().waitFor({ timeout: 120_000 });
  // A command that is run before the extension is there is not found. Its health is beside the language of a file.
  await open(first);
  await page.locator('[id="status.languageStatus"]').waitFor({ timeout: 120_000 });
  return { page, status, thread, quickInput, box, see, open, select, ask, test, end, another };
}

/** An empty folder for what a lane leaves. */
export function emptied(name) {
  const made = path.join(folder, name);
  fs.rmSync(made, { recursive: true, force: true });
  fs.mkdirSync(made, { recursive: true });
  return made;
}

const KEYS = ['a', 'b', 'e', 'n', 'y', 'Y', 'N', '1', '2', ' ', ' ', 'Enter', 'Enter', 'Enter', 'Escape', 'Tab', 'ArrowDown', 'ArrowUp', 'ArrowLeft', 'Backspace'];
let seed = 7;
const below = (bound) => ((seed = (seed * 1103515245 + 12345) % 2147483648) >>> 12) % bound;
/** Keys of a person who types and looks at nothing. */
export const typed = Array.from({ length: 300 }, () => KEYS[below(KEYS.length)]);

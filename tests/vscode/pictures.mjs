// Pictures of what a person sees, in each kind of theme and in a narrow window: node pictures.mjs CODE_SERVER FOLDER EXTENSIONS NAME
// They go into FOLDER/pictures, to be looked at; nothing in them passes or fails.
import fs from 'node:fs';
import path from 'node:path';

import { command, until } from './editor.mjs';
import { emptied, folder, startWindow } from './window.mjs';

const WIDE = { width: 1280, height: 800 };
const KINDS = {
  light: { theme: 'Default Light Modern', size: WIDE },
  dark: { theme: 'Default Dark Modern', size: WIDE },
  contrast: { theme: 'Default High Contrast', size: WIDE },
  narrow: { theme: 'Default Dark Modern', size: { width: 760, height: 800 } },
};
const chosen = process.env.KINDS?.split(',') ?? Object.keys(KINDS);
const to = path.join(folder, 'pictures');
fs.mkdirSync(to, { recursive: true });

async function opened(kind, name, script, environment) {
  const workspace = path.join(emptied(`pictures-${kind}-${name}`), 'shop');
  fs.cpSync(new URL('given/pictures', import.meta.url), workspace, { recursive: true });
  const { theme, size } = KINDS[kind];
  const window = await startWindow({ name: `pictures-${kind}-${name}`, workspace, script, first: 'cart.ts', size, environment, settings: { 'workbench.colorTheme': theme, 'window.autoDetectHighContrast': false } });
  const { page } = window;
  const inside = page.frameLocator('iframe.webview').frameLocator('#active-frame');
  const picture = async (of) => {
    // A narrow side bar or thread is drawn anew once it has its size.
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    await page.screenshot({ path: path.join(to, `${kind}-${of}.png`) });
    console.log(`${kind}-${of}.png`);
  };
  const say = async (text) => {
    await inside.locator('textarea').click();
    await page.keyboard.insertText(text);
    await page.keyboard.press('Control+Enter');
  };
  return { ...window, inside, picture, say };
}

async function firstRun(kind) {
  // Nobody listens where an Ollama would.
  const { page, thread, inside, picture, see, select, ask, end } = await opened(kind, 'first', undefined, { OLLAMA_HOST: '127.0.0.1:1' });
  await select('cart.ts', 18, 0);
  await ask('Why is the total of three breads wrong?');
  await see(page.locator('.notification-toast'), 'There is no model yet.');
  await see(thread.locator('.head'), 'failed');
  await picture('1-first-run');
  await command(page, 'Aside: New Conversation');
  await see(inside.locator('.lacking'), 'There is no model yet.');
  await picture('1-first-run-view');
  await end();
}

async function work(kind) {
  const script = new URL('given/scripts/pictures.toml', import.meta.url).pathname;
  const { page, status, thread, quickInput, box, inside, picture, say, see, select, ask, end } = await opened(kind, 'work', script);
  await select('cart.ts', 18, 5);
  await command(page, 'Aside: Ask');
  await box.waitFor();
  await page.keyboard.insertText('Why is the total of three breads wrong? See @price.ts');
  await picture('2-ask');
  await page.keyboard.press('Control+Enter');
  await see(thread, 'Keep prices in cents');
  await picture('3-stream');
  await see(thread.locator('.head'), 'done');
  await select('price.ts', 3, 0);
  await ask('Move to cents');
  await see(status, '1 question');
  await see(thread, 'What shall an unknown article do?');
  if (await quickInput.isVisible()) await page.keyboard.press('Escape');
  await picture('4-question');
  await status.click();
  await see(quickInput, 'throw an error');
  await picture('4-question-list');
  await page.waitForTimeout(600); // No key counts for what has just come.
  await page.keyboard.press('Enter');
  await see(status, '3 questions');
  await command(page, 'Aside: Review Changes');
  await see(page.locator('.tab.active'), 'Aside’s changes (3 files)');
  await page.locator('.codelens-decoration').getByText('Accept Block').first().waitFor();
  await picture('5-review');
  await page.waitForTimeout(600); // No key counts for what has just come.
  await page.keyboard.press('Control+Enter');
  await page.locator('.tab').filter({ hasText: 'Aside’s changes' }).waitFor({ state: 'detached' });
  await command(page, 'Aside: New Conversation');
  await inside.locator('textarea').waitFor();
  await say('What does this project do?');
  await see(inside.locator('.prompt'), 'Run this command?');
  await picture('6-view-prompt');
  await page.waitForTimeout(600); // A click right after a question came counts for nothing.
  await inside.locator('.prompt').getByRole('button', { name: 'Run Once' }).click();
  await see(inside.locator('.turn').last(), 'One test fails');
  for (let n = 1; n <= 12; n++) {
    await say(`Turn ${n}: how are lines added?`);
    await until('its end', async () => (await inside.locator('.turn').count()) === n + 1 && (await inside.locator('.turn').last().locator('footer').innerText()).includes('done'), 20_000);
  }
  await picture('6-view-long');
  await inside.locator('.log').evaluate((it) => (it.scrollTop = 0));
  await picture('6-view-top');
  await end();
}

for (const kind of chosen) {
  await firstRun(kind);
  await work(kind);
}

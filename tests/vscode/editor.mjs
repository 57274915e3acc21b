// A real VS Code, as code-server, and Chromium that shows it.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';

import { chromium } from 'playwright-core';

const SETTINGS = {
  'chat.disableAIFeatures': true,
  'workbench.startupEditor': 'none',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.reduceMotion': 'on',
  'workbench.colorTheme': 'Default Light Modern',
  'telemetry.telemetryLevel': 'off',
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'git.enabled': false,
  'editor.minimap.enabled': false,
  'files.autoSave': 'off',
  'security.workspace.trust.startupPrompt': 'never',
  'security.workspace.trust.banner': 'never',
  // Ports of others on this machine are nothing that a person here opened.
  'remote.autoForwardPorts': false,
};

const freePort = () =>
  new Promise((resolve, reject) => {
    const server = net.createServer().on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Starts code-server with its own home; `settings` are the user's, and `machine` those of the machine, where the newest looks for some of them. */
export async function startEditor({ codeServer, folder, extensions, settings = {}, machine = {}, environment = {}, trust = true, node = process.execPath }) {
  fs.rmSync(folder, { recursive: true, force: true });
  const data = path.join(folder, 'data');
  for (const [name, all] of [['User', { ...SETTINGS, ...settings }], ['Machine', machine]]) {
    fs.mkdirSync(path.join(data, name), { recursive: true });
    fs.writeFileSync(path.join(data, name, 'settings.json'), JSON.stringify(all));
  }
  const port = await freePort();
  const flags = ['--auth', 'none', '--disable-telemetry', '--disable-update-check', '--disable-getting-started-override'];
  if (trust) flags.push('--disable-workspace-trust');
  const args = [path.join(codeServer, 'out/node/entry.js'), '--bind-addr', `127.0.0.1:${port}`, ...flags];
  const log = fs.openSync(path.join(folder, 'code-server.log'), 'w');
  const env = { PATH: process.env.PATH, HOME: folder, LANG: 'C.UTF-8', ...environment };
  const start = () => spawn(node, [...args, '--user-data-dir', data, '--extensions-dir', extensions], { env, cwd: folder, stdio: ['ignore', log, log], detached: true });
  const origin = `127.0.0.1:${port}`;
  let child = start();
  const answers = () => {
    // It gives up where its own process is not ready within ten seconds.
    if (child.exitCode !== null) child = start();
    return fetch(`http://${origin}/healthz`).then((it) => it.ok, () => false);
  };
  await until('code-server', answers, 120_000);
  const end = () => {
    try {
      // All that it started: the extension host, and the server in it.
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  };
  process.once('exit', end);
  process.once('SIGTERM', () => process.exit(1));
  return { origin, end };
}

export async function until(what, probe, deadline) {
  const end = Date.now() + deadline;
  for (;;) {
    const found = await probe();
    if (found) return found;
    if (Date.now() > end) throw new Error(`${what} did not come about within ${deadline} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export async function startBrowser() {
  const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'];
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: flags, timeout: 120_000 });
}

/** Runs a command by its title, as a person does, who presses the key again where the list does not come. */
export async function command(page, title) {
  const widget = page.locator('.quick-input-widget');
  const once = async () => {
    await page.keyboard.press('F1');
    await widget.locator('input.input').fill(`>${title}`, { timeout: 10_000 });
    await widget.locator('.monaco-list-row').filter({ hasText: title }).first().click({ timeout: 10_000 });
    return true;
  };
  await until(title, () => once().catch(() => page.keyboard.press('Escape')), 120_000);
}

/** Opens a page with a folder, or `several` by the file that names them. It reaches nothing but this machine. */
export async function openPage(browser, origin, workspace, { several, payload, size = { width: 1280, height: 800 } } = {}) {
  const context = await browser.newContext({ viewport: size, permissions: ['clipboard-read', 'clipboard-write'] });
  await context.route(/.*/, (route) => (new URL(route.request().url()).hostname === '127.0.0.1' ? route.continue() : route.abort()));
  const page = await context.newPage();
  if (payload) {
    // A built VS Code takes no payload unless its page says that it is driven by tests.
    await page.addInitScript(() => {
      const original = Document.prototype.getElementById;
      Document.prototype.getElementById = function (id) {
        const element = original.call(this, id);
        if (id === 'vscode-workbench-web-configuration' && element && !element.dataset.patched) {
          element.dataset.patched = '1';
          const settings = JSON.parse(element.getAttribute('data-settings'));
          settings.developmentOptions = { ...settings.developmentOptions, enableSmokeTestDriver: true };
          element.setAttribute('data-settings', JSON.stringify(settings));
        }
        return element;
      };
    });
  }
  const query = payload ? `&payload=${encodeURIComponent(JSON.stringify(payload))}` : '';
  await page.goto(`http://${origin}/?${several ? `workspace=${several}` : `folder=${workspace}`}${query}`, { timeout: 120_000, waitUntil: 'commit' });
  return page;
}

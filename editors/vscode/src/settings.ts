// Settings, by who made them: the server has to know what a repository may have said. And the two that are picked from a list.
import * as vscode from 'vscode';
import type { Server } from './server';
import type { Settings } from './wire';

/** Keys of this extension; all others are the server's own. */
const OWN = new Set(['server.path', 'trace.server']);

/** The settings of the user and those of the workspace, as the server's configuration is written. */
export function readSettings(properties: string[]): Settings {
  const layers: Settings = { config: {}, workspaceConfig: {}, trusted: vscode.workspace.isTrusted };
  const all = vscode.workspace.getConfiguration('aside');
  for (const key of properties.map((property) => property.slice('aside.'.length)).filter((it) => !OWN.has(it))) {
    const values = all.inspect(key);
    put(layers.config, key, values?.globalValue);
    if (layers.trusted) put(layers.workspaceConfig, key, values?.workspaceFolderValue ?? values?.workspaceValue);
  }
  return layers;
}

function put(layer: object, key: string, value: unknown): void {
  if (value === undefined) return;
  const names = key.split('.');
  const last = names.pop()!;
  let table = layer as Record<string, unknown>;
  for (const name of names) table = (table[name] ??= {}) as Record<string, unknown>;
  // A table may be set as a whole beside some of its keys, which come later in the list.
  table[last] = isTable(value) && isTable(table[last]) ? { ...value, ...table[last] } : value;
}

const isTable = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value);

const TOUR = { label: 'The tour', description: 'no model', detail: 'A script answers, asks a question and writes a file: for a first try' };

export async function pickModel(server: Server, { extensionUri, globalStorageUri }: vscode.ExtensionContext): Promise<void> {
  const items = server.request('aside/model/list', {}).then(({ models }) => [
    ...models.map(({ id, contextWindow, prices }) => ({
      label: id,
      description: contextWindow ? `${Math.round(contextWindow / 1000)}k tokens` : '',
      detail: prices ? `$${prices.input} in, $${prices.output} out, for a million tokens` : '',
    })),
    TOUR,
  ]);
  const chosen = await vscode.window.showQuickPick(items, { title: 'Model', matchOnDetail: true });
  // The setting outlives this version of the extension, so the script has a place of its own.
  const script = vscode.Uri.joinPath(globalStorageUri, 'tour.toml');
  if (chosen === TOUR) await vscode.workspace.fs.copy(vscode.Uri.joinPath(extensionUri, 'media/walkthrough/tour.toml'), script, { overwrite: true });
  await set('assistant.model', chosen === TOUR ? `rehearsal/${script.fsPath}` : chosen?.label);
}

/** The modes are those of the setting, which has the server's words for them. */
export async function pickMode(server: Server): Promise<void> {
  const { enum: modes = [], markdownEnumDescriptions: details = [] } = server.properties['aside.conversation.mode'] ?? {};
  const items = modes.map((label, at) => ({ label, detail: details[at] }));
  await set('conversation.mode', (await vscode.window.showQuickPick(items, { title: 'What runs unasked' }))?.label);
}

async function set(key: string, value?: string): Promise<void> {
  if (value !== undefined) await vscode.workspace.getConfiguration('aside').update(key, value, vscode.ConfigurationTarget.Global);
}

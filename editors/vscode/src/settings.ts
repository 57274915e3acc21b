// Settings, by who made them: the server has to know what a repository may have said.
import * as vscode from 'vscode';
import type { Settings } from './wire';

/** Keys of this extension; all others are the server's own. */
const OWN = new Set(['server.path', 'trace.server']);

/** The settings of the user and those of the workspace, as the server's configuration is written. */
export function readSettings(properties: string[]): Settings {
  const layers: Settings = { config: {}, workspaceConfig: {}, trusted: vscode.workspace.isTrusted };
  const all = vscode.workspace.getConfiguration('aside');
  for (const key of properties
    .map((property) => property.slice('aside.'.length))
    .filter((it) => !OWN.has(it))) {
    const values = all.inspect(key);
    put(layers.config, key, values?.globalValue);
    if (layers.trusted)
      put(layers.workspaceConfig, key, values?.workspaceFolderValue ?? values?.workspaceValue);
  }
  return layers;
}

function put(layer: object, key: string, value: unknown): void {
  // A number that is left out is null in the settings editor.
  if (value === undefined || value === null) return;
  const names = key.split('.');
  const last = names.pop()!;
  let table = layer as Record<string, unknown>;
  for (const name of names) table = (table[name] ??= {}) as Record<string, unknown>;
  // A table may be set as a whole beside some of its keys, which come later in the list.
  table[last] = isTable(value) && isTable(table[last]) ? { ...value, ...table[last] } : value;
}

const isTable = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

// Picks the model and the mode; both are settings of the user.
import * as vscode from 'vscode';

import type { Server } from './server';
import type { Mode } from './wire';

const MODES: Record<Mode, string> = {
  ask: 'Reads; asks before it edits or runs anything',
  edits: 'Reads and edits files of the workspace; asks before it runs anything else',
  plan: 'Only reads',
  auto: 'Runs everything inside a sandbox, and asks where there is none',
};

export async function pickModel(server: Server): Promise<void> {
  const models = server.request('aside/model/list', {}).then((it) => it.models);
  const items = models.then((all) =>
    all.map(({ id, contextWindow, prices }) => ({
      label: id,
      description: contextWindow ? `${Math.round(contextWindow / 1000)}k tokens` : '',
      detail: prices ? `$${prices.input} in, $${prices.output} out, for a million tokens` : '',
    })),
  );
  const chosen = await vscode.window.showQuickPick(items, { title: 'Model', matchOnDetail: true });
  if (chosen) await set('assistant.model', chosen.label);
}

export async function pickMode(): Promise<void> {
  const items = Object.entries(MODES).map(([label, detail]) => ({ label, detail }));
  const chosen = await vscode.window.showQuickPick(items, { title: 'What runs unasked' });
  if (chosen) await set('conversation.mode', chosen.label);
}

const set = (key: string, value: string): Thenable<void> =>
  vscode.workspace.getConfiguration('aside').update(key, value, vscode.ConfigurationTarget.Global);

// The two settings that are picked from a list.
import * as vscode from 'vscode';
import type { Server } from './server';

const TOUR = {
  label: 'The tour',
  description: 'no model',
  detail: 'A script answers, asks a question and writes a file: for a first try',
};

export async function pickModel(
  server: Server,
  { extensionUri, globalStorageUri }: vscode.ExtensionContext,
): Promise<void> {
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
  if (chosen === TOUR)
    await vscode.workspace.fs.copy(
      vscode.Uri.joinPath(extensionUri, 'media/walkthrough/tour.toml'),
      script,
      { overwrite: true },
    );
  await set('assistant.model', chosen === TOUR ? `rehearsal/${script.fsPath}` : chosen?.label);
}

/** The modes are those of the setting, which has the server's words for them. */
export async function pickMode(server: Server): Promise<void> {
  const { enum: modes = [], markdownEnumDescriptions: details = [] } =
    server.properties['aside.conversation.mode'] ?? {};
  const items = modes.map((label, at) => ({ label, detail: details[at] }));
  await set(
    'conversation.mode',
    (await vscode.window.showQuickPick(items, { title: 'What runs without asking' }))?.label,
  );
}

async function set(key: string, value?: string): Promise<void> {
  if (value !== undefined)
    await vscode.workspace
      .getConfiguration('aside')
      .update(key, value, vscode.ConfigurationTarget.Global);
}

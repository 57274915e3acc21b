// What the user allowed for good, and how it asks again.
import * as vscode from 'vscode';
import { allowedByName, askAgain } from './editorTools';
import type { Server } from './server';
import { visible } from './text';

export async function showApprovals(server: Server): Promise<void> {
  const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.toString());
  const lists = await Promise.all(
    folders.map(async (folder) => {
      const { items } = await server.request('aside/approval/list', { folder });
      return items.map((it) => ({ ...it, folder }));
    }),
  );
  const kept = lists.flat().map(({ approvalId, folder, tool, title, text, cwd, approvedAt }) => ({
    // Arguments alone do not say what they are for; a command does.
    label: visible((cwd === undefined ? title : text?.split('\n')[0]) ?? text ?? approvalId),
    description: [tool, cwd, approvedAt && new Date(approvedAt).toLocaleString()]
      .filter(Boolean)
      .join(' · '),
    detail: text && (cwd === undefined || text.includes('\n')) ? visible(text) : undefined,
    revoke: () => server.request('aside/approval/revoke', { approvalId, folder }),
  }));
  const byName = allowedByName().map((tool) => ({
    label: visible(tool),
    description: 'all its calls · by your settings',
    detail: undefined,
    revoke: () => askAgain(tool),
  }));
  const all = [...kept, ...byName];
  if (!all.length) {
    void vscode.window.showInformationMessage('Aside: nothing is allowed for good here.');
    return;
  }
  const chosen = await vscode.window.showQuickPick(all, {
    title: 'Allowed for Good: Choose What Shall Ask Again',
    canPickMany: true,
  });
  for (const { revoke } of chosen ?? []) await revoke();
}

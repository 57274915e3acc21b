// What the user allowed for good, and how it asks again.
import * as vscode from 'vscode';
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
  const all = lists.flat().map(({ approvalId, folder, tool, title, text, cwd, approvedAt }) => ({
    label: visible(text?.split('\n')[0] ?? title ?? approvalId),
    description: [tool, cwd, approvedAt && new Date(approvedAt).toLocaleString()]
      .filter(Boolean)
      .join(' · '),
    detail: text?.includes('\n') ? visible(text) : undefined,
    approval: { approvalId, folder },
  }));
  if (!all.length) {
    void vscode.window.showInformationMessage('Aside: nothing is allowed for good here.');
    return;
  }
  const chosen = await vscode.window.showQuickPick(all, {
    title: 'Allowed for Good: Choose What Shall Ask Again',
    canPickMany: true,
  });
  for (const { approval } of chosen ?? []) await server.request('aside/approval/revoke', approval);
}

// The list of conversations, and what can be done with one.
import * as vscode from 'vscode';

import { sentence } from './server';
import type { Server } from './server';
import { escaped } from './text';
import { spent } from './turnText';
import type { ConversationItem, Usage } from './wire';

const SCHEME = 'aside-conversation';
const ICONS = { idle: 'comment-discussion', running: 'loading~spin', waiting: 'question', interrupted: 'debug-pause' };

type Node = ConversationItem | { more: string };

export class Conversations implements vscode.TreeDataProvider<Node>, vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];
  private shown: ConversationItem[] = [];
  readonly onDidChangeTreeData = this.changed.event;

  constructor(private readonly server: Server) {
    server.onNotification('aside/conversation/changed', () => this.changed.fire());
    this.subscriptions = [
      server.onDidChangeRunning(() => this.changed.fire()),
      vscode.window.registerTreeDataProvider('aside.conversations', this),
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
    ];
  }

  async getChildren(): Promise<Node[]> {
    if (!this.server.isRunning) return [];
    const { items, nextCursor } = await this.server.request('aside/conversation/list', {});
    this.shown = items;
    return [...items, ...(nextCursor ? [{ more: nextCursor }] : [])];
  }

  getTreeItem(node: Node): vscode.TreeItem {
    if ('more' in node) {
      const item = new vscode.TreeItem('Search in all…');
      return Object.assign(item, { command: { command: 'aside.searchConversations', title: 'Search' } });
    }
    const item = new vscode.TreeItem(node.title || 'New conversation');
    item.id = node.conversationId;
    item.contextValue = node.status;
    item.iconPath = new vscode.ThemeIcon(ICONS[node.status]);
    item.description = new Date(node.updatedAt).toLocaleString();
    item.command = { command: 'aside.openConversation', title: 'Open', arguments: [node] };
    return item;
  }

  /** What a conversation cost is looked up when somebody points at it. */
  async resolveTreeItem(item: vscode.TreeItem, node: Node): Promise<vscode.TreeItem> {
    if ('more' in node) return item;
    const usage = await this.usage(node.conversationId);
    const { status, turns, prompts } = node;
    const told = [`**${escaped(node.title)}**`, `${status}, ${turns} turns${prompts ? `, ${prompts} questions` : ''}`, spent(usage)];
    item.tooltip = new vscode.MarkdownString(told.join('\n\n'));
    return item;
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const { text } = await this.server.request('aside/conversation/transcript', { conversationId: uri.path.split('/')[1]! });
    return text;
  }

  async open({ conversationId, title }: ConversationItem): Promise<void> {
    const path = `/${conversationId}/${title.replace(/[^\p{L}\p{N} .,-]/gu, '_').slice(0, 60) || 'conversation'}.md`;
    await vscode.window.showTextDocument(vscode.Uri.from({ scheme: SCHEME, path }));
  }

  async search(): Promise<void> {
    const query = await vscode.window.showInputBox({ title: 'Conversations whose title has this', ignoreFocusOut: true });
    if (query === undefined) return;
    const { items } = await this.server.request('aside/conversation/list', { query, limit: 200 });
    const chosen = await vscode.window.showQuickPick(items.map((item) => ({ label: item.title, description: item.updatedAt, item })));
    if (chosen) await this.open(chosen.item);
  }

  async fork({ conversationId }: ConversationItem): Promise<void> {
    await this.server.request('aside/conversation/fork', { conversationId });
    this.changed.fire();
  }

  async rename({ conversationId, title }: ConversationItem): Promise<void> {
    const wanted = await vscode.window.showInputBox({ title: 'Rename the conversation', value: title });
    if (wanted?.trim()) await this.server.request('aside/conversation/rename', { conversationId, title: wanted.trim() });
    this.changed.fire();
  }

  async remove({ conversationId, title }: ConversationItem): Promise<void> {
    const sure = await vscode.window.showWarningMessage(`Delete “${title}” for good?`, { modal: true }, 'Delete');
    if (sure) await this.server.request('aside/conversation/delete', { conversationId });
    this.changed.fire();
  }

  async resume({ conversationId }: ConversationItem): Promise<void> {
    await this.server.request('aside/turn/resume', { conversationId });
  }

  /** The conversation that a command of the palette is about. */
  async choose(): Promise<ConversationItem | undefined> {
    await this.getChildren().catch((error: unknown) => void vscode.window.showErrorMessage(sentence(error)));
    const chosen = await vscode.window.showQuickPick(this.shown.map((item) => ({ label: item.title, description: item.status, item })));
    return chosen?.item;
  }

  dispose(): void {
    for (const subscription of [...this.subscriptions, this.changed]) subscription.dispose();
  }

  private async usage(conversationId: string): Promise<Usage> {
    const sum: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
    let after: string | undefined;
    do {
      const page = await this.server.request('aside/conversation/read', { conversationId, after });
      for (const { updates } of page.turns) {
        const used = updates.findLast((update) => update.kind === 'usage');
        if (!used) continue;
        for (const key of ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens'] as const) sum[key] += used[key];
        if (used.costUsd !== undefined) sum.costUsd = (sum.costUsd ?? 0) + used.costUsd;
      }
      after = page.next;
    } while (after);
    return sum;
  }
}

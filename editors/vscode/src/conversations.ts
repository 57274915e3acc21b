// The list of conversations, and what can be done with one.
import * as vscode from 'vscode';
import type { Server } from './server';
import { counted, escaped } from './text';
import { spent } from './turnText';
import type { ConversationItem } from './wire';

const SCHEME = 'aside-conversation';
/** A page that the server prints of a conversation. */
type ConversationPage = 'transcript' | 'ledger';
const ICONS = {
  idle: 'comment-discussion',
  running: 'loading~spin',
  waiting: 'question',
  interrupted: 'debug-pause',
};

/** Conversations in place of which another one goes on, since a message was edited or sent again. */
const REPLACED = 'aside.replaced';
/** Those that are remembered, the newest. */
const MOST_REPLACED = 200;

export async function keepReplaced(state: vscode.Memento, conversationId: string): Promise<void> {
  const all = new Set(state.get<string[]>(REPLACED, [])).add(conversationId);
  await state.update(REPLACED, [...all].slice(-MOST_REPLACED));
}

export class Conversations
  implements vscode.TreeDataProvider<ConversationItem>, vscode.TextDocumentContentProvider
{
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;

  constructor(
    private readonly server: Server,
    private readonly state: vscode.Memento,
    subscriptions: vscode.ExtensionContext['subscriptions'],
  ) {
    server.onNotification('aside/conversation/changed', () => this.changed.fire());
    subscriptions.push(
      this.changed,
      server.onDidChangeRunning(() => this.changed.fire()),
      vscode.window.registerTreeDataProvider('aside.conversations', this),
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
    );
  }

  async getChildren(): Promise<ConversationItem[]> {
    return this.server.isRunning ? this.list() : [];
  }

  getTreeItem(conversation: ConversationItem): vscode.TreeItem {
    const { conversationId, title, status, updatedAt } = conversation;
    const item = new vscode.TreeItem(title || 'New conversation');
    item.id = conversationId;
    item.contextValue = status;
    item.iconPath = new vscode.ThemeIcon(ICONS[status]);
    const isReplaced = this.state.get<string[]>(REPLACED, []).includes(conversationId);
    item.description = `${isReplaced ? 'earlier version · ' : ''}${when(new Date(updatedAt))}`;
    item.command = {
      command: 'aside.openConversation',
      title: 'Open',
      arguments: [conversation],
    };
    item.tooltip = tooltip(conversation);
    return item;
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const [, conversationId, page] = uri.path.split('/') as [string, string, ConversationPage];
    const { text } = await this.server.request(`aside/conversation/${page}`, { conversationId });
    return text || 'Nothing is in it yet.';
  }

  /** Opens a page of a conversation as markdown. */
  async open(
    { conversationId, title }: Pick<ConversationItem, 'conversationId' | 'title'>,
    page: ConversationPage,
  ): Promise<void> {
    const name = title.replace(/[^\p{L}\p{N} .,-]/gu, '_').slice(0, 60) || 'conversation';
    const path = `/${conversationId}/${page}/${page === 'ledger' ? 'Ledger of ' : ''}${name}.md`;
    await vscode.window.showTextDocument(vscode.Uri.from({ scheme: SCHEME, path }));
  }

  /** The id of the new conversation. */
  async fork({ conversationId }: ConversationItem): Promise<string> {
    const forked = await this.server.request('aside/conversation/fork', { conversationId });
    this.changed.fire();
    return forked.conversationId;
  }

  /** The new title, if there is one. */
  async rename({ conversationId, title }: ConversationItem): Promise<string | undefined> {
    const box = { title: 'Rename the conversation', value: title };
    const wanted = (await vscode.window.showInputBox(box))?.trim();
    if (wanted)
      await this.server.request('aside/conversation/rename', { conversationId, title: wanted });
    this.changed.fire();
    return wanted;
  }

  /** Whether it was deleted. */
  async remove({ conversationId, title }: ConversationItem): Promise<boolean> {
    const sure = await vscode.window.showWarningMessage(
      `Delete “${title}” for good?`,
      { modal: true },
      'Delete',
    );
    if (sure) await this.server.request('aside/conversation/delete', { conversationId });
    this.changed.fire();
    return sure !== undefined;
  }

  /** The conversation that a command of the palette is about. */
  async choose(): Promise<ConversationItem | undefined> {
    const items = this.getChildren().then((all) =>
      all.map((item) => ({ label: item.title, description: item.status, item })),
    );
    return (await vscode.window.showQuickPick(items, { title: 'Conversation' }))?.item;
  }

  private async list(cursor?: string): Promise<ConversationItem[]> {
    const { items, nextCursor } = await this.server.request('aside/conversation/list', {
      cursor,
      limit: 200,
    });
    return nextCursor ? [...items, ...(await this.list(nextCursor))] : items;
  }
}

/** The day, and of today the time: several may have the same title, one a fork of the other. */
function when(at: Date): string {
  const isToday = at.toDateString() === new Date().toDateString();
  return isToday
    ? at.toLocaleTimeString(undefined, { hour: 'numeric', minute: '2-digit' })
    : at.toLocaleDateString();
}

/** Title, status and cost of a conversation. */
function tooltip({
  title,
  updatedAt,
  status,
  turns,
  prompts,
  usage,
}: ConversationItem): vscode.MarkdownString {
  const questions = prompts ? [counted(prompts, 'question')] : [];
  const about = [
    status,
    counted(turns, 'turn'),
    ...questions,
    new Date(updatedAt).toLocaleString(),
  ];
  return new vscode.MarkdownString(
    [`**${escaped(title)}**`, escaped(about.join(', ')), spent(usage)].join('\n\n'),
  );
}

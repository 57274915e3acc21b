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
  private readonly tree: vscode.TreeView<ConversationItem>;
  private items: ConversationItem[] = [];
  /** The conversation that the view shows, if the server has it. */
  private shown?: string;
  /** A part of the ids of rows: VS Code takes a selection back only with the row that has it. */
  private unselected = 0;

  constructor(
    private readonly server: Server,
    private readonly state: vscode.Memento,
    subscriptions: vscode.ExtensionContext['subscriptions'],
  ) {
    server.onNotification('aside/conversation/changed', () => this.changed.fire());
    this.tree = vscode.window.createTreeView('aside.conversations', { treeDataProvider: this });
    subscriptions.push(
      this.changed,
      this.tree,
      server.onDidChangeRunning(() => this.changed.fire()),
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
    );
  }

  async getChildren(): Promise<ConversationItem[]> {
    this.items = this.server.isRunning ? await this.list() : [];
    return this.items;
  }

  /** None: it is a list. */
  getParent(): undefined {
    return undefined;
  }

  /**
   * Marks the conversation that the view shows, and takes the selection from another one. No row is revealed: VS Code would
   * bring the list up, also to a person who has just left it.
   */
  mark(conversationId: string | undefined): void {
    if (conversationId === this.shown) return;
    this.shown = conversationId;
    const [selected] = this.tree.selection;
    if (selected && selected.conversationId !== conversationId) this.unselected++;
    this.changed.fire();
  }

  getTreeItem(conversation: ConversationItem): vscode.TreeItem {
    const { conversationId, title, status } = conversation;
    const isShown = conversationId === this.shown;
    const label = title || 'New conversation';
    const item = new vscode.TreeItem({ label, highlights: isShown ? [[0, label.length]] : [] });
    item.id = `${conversationId} ${this.unselected}`;
    item.contextValue = status;
    item.iconPath = new vscode.ThemeIcon(ICONS[status]);
    const isReplaced = this.state.get<string[]>(REPLACED, []).includes(conversationId);
    item.description = `${isShown ? 'shown · ' : ''}${isReplaced ? 'earlier version · ' : ''}${this.when(conversation)}`;
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
      all.map((item) => ({
        label: item.title,
        description: `${item.status} · ${this.when(item)}`,
        item,
      })),
    );
    return (await vscode.window.showQuickPick(items, { title: 'Conversation' }))?.item;
  }

  /** The time of a conversation, as exactly as tells it from others of its title, at the worst with its id. */
  private when({ conversationId, title, updatedAt }: ConversationItem): string {
    const isLike = (it: ConversationItem) =>
      it.title === title && it.conversationId !== conversationId;
    const others = this.items.filter(isLike).map((it) => times(it.updatedAt));
    const own = times(updatedAt);
    const telling = own.find((time, at) => others.every((it) => it[at] !== time));
    return telling ?? `${own.at(-1)} · ${conversationId}`;
  }

  private async list(cursor?: string): Promise<ConversationItem[]> {
    const { items, nextCursor } = await this.server.request('aside/conversation/list', {
      cursor,
      limit: 200,
    });
    return nextCursor ? [...items, ...(await this.list(nextCursor))] : items;
  }
}

/** A time in its usual form, and with its seconds. */
const times = (at: string): string[] => [when(new Date(at)), when(new Date(at), '2-digit')];

/** The day, and of today the time; with its seconds, also of another day. */
function when(at: Date, second?: '2-digit'): string {
  const isToday = at.toDateString() === new Date().toDateString();
  const time = at.toLocaleTimeString(undefined, { hour: 'numeric', minute: '2-digit', second });
  return [...(isToday ? [] : [at.toLocaleDateString()]), ...(isToday || second ? [time] : [])].join(' ');
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

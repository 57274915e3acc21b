// Puts the parts together, and has the commands.
import * as vscode from 'vscode';

import { IMAGE_PASTE, imagePaste, mentions } from './attachments';
import { Conversations } from './conversations';
import { callTool, declared, listDiagnostics, openDocument } from './editorTools';
import { pickMode, pickModel } from './pickers';
import { Prompts } from './prompts';
import { Review } from './review';
import { sentence, Server } from './server';
import { StatusBar } from './status';
import { Threads } from './threads';
import { VERSION } from './wire';
import type { ConversationItem, Prompt } from './wire';

/** The reply boxes of comment threads. */
const REPLY = { scheme: 'comment' };
const FILES = [{ scheme: 'file' }, { scheme: 'untitled' }];

/** What the command that asks may be given by others; without it, the person writes in the thread. */
interface Ask {
  uri: vscode.Uri;
  range: vscode.Range;
  message: string;
}

/** What other extensions may know. */
export interface Api {
  /** What the status bar says; nothing while there is nothing to say. */
  readonly status: string | undefined;
  readonly threads: readonly vscode.CommentThread[];
  readonly prompts: readonly Prompt[];
}

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  const { subscriptions } = context;
  const server = new Server(context, { version: VERSION, prompt: true, secret: true, save: true, tools: declared });
  subscriptions.push(server);
  const pasted = vscode.Uri.joinPath(context.globalStorageUri, 'pasted');
  const prompts = new Prompts(server, subscriptions);
  const threads = new Threads(server, prompts, pasted, subscriptions);
  const review = new Review(prompts, subscriptions);
  const conversations = new Conversations(server, subscriptions);
  const statusBar = new StatusBar(server, prompts, threads, subscriptions);

  server.onRequest('aside/tool/call', ({ name, arguments: args }) => callTool(name, args));
  server.onRequest('aside/document/save', ({ uri }) => save(vscode.Uri.parse(uri)));

  const ask = async ({ uri, range, message }: Partial<Ask> = {}) => {
    if (uri && range && message) return threads.ask(uri, range, message);
    const editor = vscode.window.activeTextEditor;
    if (!editor) throw new Error('Open a file first: Aside answers beside its lines.');
    return threads.compose(editor);
  };
  const fix = async (uri: vscode.Uri, range: vscode.Range) => {
    const diagnostics = vscode.languages.getDiagnostics(uri).filter((it) => it.range.intersection(range));
    const text = listDiagnostics([[uri, diagnostics]]);
    await threads.ask(uri, range, 'Fix this.', [{ uri: 'untitled:diagnostics', text }]);
  };
  const here = (uri?: vscode.Uri) => {
    const editor = vscode.window.activeTextEditor;
    return review.at(editor?.document.uri, editor?.selection.active.line) ?? review.at(uri);
  };
  /** The prompt of a note in a thread, of a diff's title, or the one by this id. */
  const change = (from?: string | { promptId?: string } | vscode.Uri) =>
    typeof from === 'string' ? from : from instanceof vscode.Uri ? here(from)?.promptId : (from?.promptId ?? here()?.promptId);
  const decide = (taken: boolean) => async (promptId?: string | vscode.Uri, at?: number) => {
    const found = typeof promptId === 'string' && at !== undefined ? { promptId, block: at } : here();
    if (found) await review.decide(found.promptId, found.block, taken);
  };
  const about = (act: (item: ConversationItem) => Promise<void>) => async (item?: ConversationItem) => {
    const chosen = item ?? (await conversations.choose());
    if (chosen) await act(chosen);
  };
  const on = (act: (thread: vscode.CommentThread) => unknown) => (from: vscode.CommentThread | { thread: vscode.CommentThread }) =>
    act('thread' in from ? from.thread : from);

  const commands: Record<string, (...args: never[]) => unknown> = {
    ask,
    fix,
    reply: ({ thread, text }: vscode.CommentReply) => {
      prompts.attend();
      return threads.say(thread, text);
    },
    stopTurn: on((thread) => threads.cancel(thread)),
    undoTurn: on((thread) => threads.undo(thread)),
    closeThread: on((thread) => threads.remove(thread)),
    revealThread: () => threads.reveal(),
    answerQuestion: (note?: { promptId?: string }) => prompts.turnTo(note?.promptId),
    declineQuestion: ({ promptId }: { promptId: string }) => prompts.decline(promptId),
    skipQuestion: ({ promptId }: { promptId: string }) => prompts.get(promptId)?.settle({ action: 'cancel' }),
    reviewChanges: () => review.open(prompts.list().map(({ prompt }) => prompt)),
    acceptChange: (from?: vscode.Uri) => withPrompt(change(from), (promptId) => review.accept(promptId)),
    rejectChange: (from?: vscode.Uri) => withPrompt(change(from), (promptId) => review.reject(promptId)),
    acceptBlock: decide(true),
    rejectBlock: decide(false),
    openConversation: about((item) => conversations.open(item)),
    forkConversation: about((item) => conversations.fork(item)),
    renameConversation: about((item) => conversations.rename(item)),
    deleteConversation: about((item) => conversations.remove(item)),
    resumeConversation: about((item) => threads.resume(item.conversationId)),
    pickModel: () => pickModel(server, context),
    pickMode: () => pickMode(server),
    restartServer: () => server.restart(),
    stopServer: () => server.stop(),
    showLogs: () => server.showLogs(),
    copyDebugInformation: () => vscode.env.clipboard.writeText(server.debugInformation()),
  };
  for (const [name, run] of Object.entries(commands)) {
    const fail = (error: unknown) => void vscode.window.showErrorMessage(`Aside: ${sentence(error)}`);
    subscriptions.push(vscode.commands.registerCommand(`aside.${name}`, (...args: never[]) => Promise.resolve().then(() => run(...args)).catch(fail)));
  }
  const pasting = { providedPasteEditKinds: [IMAGE_PASTE], pasteMimeTypes: ['image/*'] };
  subscriptions.push(
    vscode.languages.registerCodeActionsProvider(FILES, { provideCodeActions: offerFix }, { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] }),
    vscode.languages.registerCompletionItemProvider(REPLY, mentions, '@'),
    vscode.languages.registerDocumentPasteEditProvider(REPLY, imagePaste(pasted), pasting),
    vscode.workspace.onDidGrantWorkspaceTrust(() => (server.isRunning ? server.settingsChanged() : void server.restart())),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration('aside.server.path') && void server.restart()),
  );
  await server.restart();
  return {
    get status() {
      return statusBar.text;
    },
    get threads() {
      return threads.list();
    },
    get prompts() {
      return prompts.list().map(({ prompt }) => prompt);
    },
  };
}

function withPrompt(promptId: string | undefined, act: (promptId: string) => unknown): unknown {
  return promptId === undefined ? undefined : act(promptId);
}

async function save(uri: vscode.Uri): Promise<Record<string, never>> {
  const document = openDocument(uri);
  // Right after an edit, this host may not have heard yet that the document is dirty.
  if (document && !(await document.save())) throw new Error(`${uri.fsPath} could not be saved`);
  return {};
}

function offerFix(document: vscode.TextDocument, range: vscode.Range, { diagnostics }: vscode.CodeActionContext): vscode.CodeAction[] {
  if (!diagnostics.length) return [];
  const action = new vscode.CodeAction('Aside: Fix', vscode.CodeActionKind.QuickFix);
  action.diagnostics = [...diagnostics];
  action.command = { command: 'aside.fix', title: 'Fix', arguments: [document.uri, range] };
  return [action];
}

// Puts the parts together, and has the commands.
import * as vscode from 'vscode';
import { showApprovals } from './approvals';
import { IMAGE_PASTE, imagePaste } from './attachments';
import { Conversations } from './conversations';
import { callTool, listDiagnostics, names, openDocument, rootOf } from './editorTools';
import { Keys } from './keys';
import { McpServers } from './mcpServers';
import { completion } from './mentions';
import { Choices } from './pickers';
import { BOX, Prompts } from './prompts';
import { Review, type From } from './review';
import { Server } from './server';
import { StatusBar } from './status';
import { sentence } from './text';
import { Talks, type Talk } from './talks';
import { Threads } from './threads';
import { View } from './view';
import { VERSION, type ConversationItem } from './wire';

/** The reply boxes of comment threads. */
const REPLY = { scheme: BOX };
const FILES = [{ scheme: 'file' }, { scheme: 'untitled' }];

/** Arguments of the command that asks, from other extensions. Without them, the person writes in the thread. */
type Ask = { uri: vscode.Uri; range: vscode.Range; message: string };

/** Commands of a reply box, which VS Code empties after them. */
const KEEPS_TEXT = new Set(['answerTyped', 'reply', 'tellModel']);

/** The server of this window. */
let server: Server;

export function activate(context: vscode.ExtensionContext) {
  const { subscriptions } = context;
  server = new Server(context, {
    version: VERSION,
    prompt: true,
    secret: true,
    save: true,
    editorTools: names,
  });
  const pasted = vscode.Uri.joinPath(context.globalStorageUri, 'pasted');
  const prompts = new Prompts(server, subscriptions);
  const choices = new Choices(server, context);
  const keys = new Keys(server, choices, context.secrets, subscriptions);
  const talks = new Talks(server, choices, keys, subscriptions);
  const threads = new Threads(
    talks,
    prompts,
    choices,
    pasted,
    context.workspaceState,
    subscriptions,
  );
  const view = new View(talks, threads, prompts, choices, pasted, context);
  const review = new Review(prompts, subscriptions);
  const conversations = new Conversations(server, context.workspaceState, subscriptions);
  const mcpServers = new McpServers(server, subscriptions);
  const statusBar = new StatusBar(server, prompts, talks, choices, subscriptions);
  server.onRequest('aside/tool/call', ({ name, arguments: args, root }) =>
    callTool(name, args, vscode.Uri.parse(root)),
  );
  server.onRequest('aside/document/save', ({ uri }) => save(vscode.Uri.parse(uri)));

  const about =
    (act: (item: ConversationItem) => Promise<void>) => async (item?: ConversationItem) => {
      const chosen = item ?? (await conversations.choose());
      if (chosen) await act(chosen);
    };
  const on =
    (act: (talk: Talk) => unknown) =>
    (from: vscode.CommentThread | { thread: vscode.CommentThread }) => {
      const talk = threads.talkOf('thread' in from ? from.thread : from);
      return talk && act(talk);
    };

  const commands: Record<string, (...args: never[]) => unknown> = {
    ask: (given?: Ask | vscode.Uri) => {
      if (given && 'message' in given) return threads.ask(given.uri, given.range, given.message);
      const editor = vscode.window.activeTextEditor;
      return editor ? threads.compose(editor) : view.focus('box');
    },
    fix: (uri: vscode.Uri, range: vscode.Range) => {
      const diagnostics = vscode.languages
        .getDiagnostics(uri)
        .filter((it) => it.range.intersection(range));
      return threads.ask(uri, range, 'Fix this.', [
        { uri: 'untitled:diagnostics', text: listDiagnostics(rootOf(uri), [[uri, diagnostics]]) },
      ]);
    },
    reply: ({ thread, text }: vscode.CommentReply) => {
      prompts.attends = true;
      return threads.say(thread, text);
    },
    tellModel: ({ thread, text }: vscode.CommentReply) => threads.say(thread, text),
    answerTyped: ({ thread, text }: vscode.CommentReply) => {
      prompts.attends = true;
      threads.answer(thread, text);
    },
    chooseAnswer: (promptId: string, at: number) => {
      prompts.attends = true;
      return prompts.choose(promptId, at);
    },
    stopTurn: on((talk) => talks.cancel(talk)),
    undoTurn: on((talk) => talks.undo(talk)),
    retryTurn: (on: vscode.CommentThread) => threads.retry(on),
    resumeTurn: on((talk) => talks.resume(talk)),
    closeThread: (on: vscode.CommentThread) => threads.remove(on),
    continueInView: on(({ conversationId }) => view.show(conversationId, 'box')),
    revealWork: async () => {
      const { latest } = talks;
      if (latest && !(await threads.reveal(latest))) await view.show(latest.conversationId, 'box');
    },
    newConversation: () => view.show(undefined, 'box'),
    answerQuestion: (note?: { promptId?: string }) => prompts.turnTo(note?.promptId),
    declineQuestion: ({ promptId }: { promptId: string }) => prompts.decline(promptId),
    skipQuestion: (note: { promptId: string }) => prompts.cancel(note),
    reviewChanges: () => review.open(prompts.list.map(({ prompt }) => prompt)),
    acceptChange: (from: From) => review.accept(from),
    rejectChange: (from: From) => review.reject(from),
    acceptBlock: (from: From, at?: number) => review.decide(true, from, at),
    rejectBlock: (from: From, at?: number) => review.decide(false, from, at),
    acceptAllChanges: () => review.decideAll(true),
    rejectAllChanges: () => review.decideAll(false),
    openConversation: about((item) => view.show(item.conversationId, 'box')),
    openTranscript: about((item) => conversations.open(item, 'transcript')),
    openLedger: about((item) => conversations.open(item, 'ledger')),
    forkConversation: about(async (item) => view.show(await conversations.fork(item), 'box')),
    renameConversation: about(async (item) => {
      const title = await conversations.rename(item);
      if (title) talks.name(item.conversationId, title);
    }),
    deleteConversation: about(async (item) => {
      if (!(await conversations.remove(item))) return;
      talks.forget(item.conversationId);
      threads.forget(item.conversationId);
      view.forget(item.conversationId);
    }),
    resumeConversation: about((item) => view.resume(item.conversationId)),
    showServers: () => mcpServers.show(),
    showApprovals: () => showApprovals(server),
    // In a thread it asks again with the key.
    enterKey: async (on?: vscode.CommentThread) => {
      const isEntered = await keys.enter();
      if (isEntered && on) await threads.retry(on);
      return isEntered;
    },
    takeTour: async () => {
      await choices.takeTour();
      // Its box says what to do next.
      await view.focus('box');
    },
    getOllama: () => keys.getOllama(),
    pickModelOrMode: async (on: vscode.CommentThread) => {
      const before = JSON.stringify(choices.shown);
      await choices.pick();
      if (JSON.stringify(choices.shown) !== before) await threads.reopen(on);
    },
    pickModel: () => choices.pickModel(),
    pickMode: () => choices.pickMode(),
    restartServer: () => server.restart(),
    stopServer: () => server.stop(),
    showLogs: () => server.showLogs(),
    copyDebugInformation: () => vscode.env.clipboard.writeText(server.debugInformation()),
  };
  const fail = (error: unknown) => void vscode.window.showErrorMessage(`Aside: ${sentence(error)}`);
  for (const [name, run] of Object.entries(commands)) {
    subscriptions.push(
      vscode.commands.registerCommand(`aside.${name}`, (...args: never[]) =>
        Promise.resolve()
          .then(() => run(...args))
          .catch((error: unknown) => {
            fail(error);
            // A terminal or another window may have gone on.
            for (const it of [talks.refresh(), prompts.recover()]) it.catch(() => undefined);
            // The box of a command that fails keeps its text.
            if (KEEPS_TEXT.has(name)) throw error;
          }),
      ),
    );
  }
  subscriptions.push(
    server,
    view.onDidShow((conversationId) => conversations.mark(conversationId)),
    talks.onDidChange(({ conversationId, turns }) => {
      if (turns.at(-1)?.text.outcome !== 'interrupted') prompts.dropLeft(conversationId);
    }),
    vscode.languages.registerCodeActionsProvider(
      FILES,
      { provideCodeActions: offerFix },
      { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] },
    ),
    vscode.languages.registerCompletionItemProvider(REPLY, completion, '@', '/'),
    vscode.languages.registerDocumentPasteEditProvider(REPLY, imagePaste(pasted), {
      providedPasteEditKinds: [IMAGE_PASTE],
      pasteMimeTypes: ['image/*'],
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() =>
      server.isRunning ? void server.settingsChanged() : void server.restart(),
    ),
    vscode.workspace.onDidChangeConfiguration(
      (event) => event.affectsConfiguration('aside.server.path') && void server.restart(),
    ),
  );
  // Commands work as soon as this is over, and one of them stops a server that does not come up.
  void server.restart();
  void threads.restore();
  // The API for other extensions: the text of the status bar, the threads, the turns in the view, and the open prompts.
  return {
    status: () => statusBar.text,
    threads: () => threads.list,
    shown: () => view.shown.turns.map(({ message, text }) => `${message}\n\n${text.markdown()}`),
    prompts: () => prompts.list.map(({ prompt }) => prompt),
  };
}

/** The server ends before its window is closed. */
export const deactivate = () => server.stop();

/** Milliseconds that saving may take; the server waits no longer. */
const SAVED = 5_000;

async function save(uri: vscode.Uri): Promise<Record<string, never>> {
  const name = vscode.workspace.asRelativePath(uri);
  const warn = (why: string) =>
    void vscode.window.showWarningMessage(
      `Aside changed ${name}, and it ${why}. Commands see the file as it was: save it yourself.`,
    );
  const late = setTimeout(() => warn('is still not saved after 5 s'), SAVED);
  // Right after an edit, this host may not have heard yet that the document is dirty.
  const saved = await Promise.resolve(openDocument(uri)?.save() ?? true).finally(() =>
    clearTimeout(late),
  );
  if (saved) return {};
  warn('could not be saved');
  throw new Error(`${name} could not be saved`);
}

function offerFix(
  document: vscode.TextDocument,
  range: vscode.Range,
  { diagnostics }: vscode.CodeActionContext,
): vscode.CodeAction[] {
  if (!diagnostics.length) return [];
  const command = { command: 'aside.fix', title: 'Fix', arguments: [document.uri, range] };
  return [
    Object.assign(new vscode.CodeAction('Aside: Fix', vscode.CodeActionKind.QuickFix), {
      diagnostics: [...diagnostics],
      command,
    }),
  ];
}

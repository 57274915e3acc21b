// Conversations where they were asked: a comment thread each, with the answer as it is written and the prompts that wait.
import { randomUUID } from 'node:crypto';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { place, readAttachments } from './attachments';
import { rootOf } from './editorTools';
import { Follow } from './follow';
import { offers, typedAnswer } from './offers';
import { isChange, type Prompts } from './prompts';
import type { Server } from './server';
import { escaped, fenced, harmless, sentence, visible } from './text';
import { spent, TurnText } from './turnText';
import { details, question } from './widgets';
import type { Attachment, Prompt } from './wire';

/**
 * Milliseconds between two renderings, and one more for so many characters. VS Code waits until comments were not assigned for
 * 100 ms before it shows them, so that more renderings in a second would show nothing at all.
 */
const RENDER_MS = 150;
const RENDER_CHARACTERS = 1_000;
/** Milliseconds after which a rendering is on the screen. */
const SHOWN_MS = 200;

/** A comment; `promptId` is that of the prompt that it is about. */
type Note = vscode.Comment & { promptId?: string };

interface Thread {
  readonly on: vscode.CommentThread;
  /** The selection when the thread was opened. */
  readonly about: vscode.Range;
  conversationId?: string;
  /** Notes of the turns that have ended. */
  past: Note[];
  turn?: { id: string; said: Note; text: TurnText };
  timer?: NodeJS.Timeout;
}

/** Schemes of documents beside whose lines one can ask; of one that is no file, the text goes along. */
const ASKABLE = ['file', 'untitled', 'git'];
/** The command of an answer that is offered. */
const CHOOSE = 'aside.chooseAnswer';
const ASIDE = { name: 'Aside' };
const YOU = { name: 'You' };
const { Expanded } = vscode.CommentThreadCollapsibleState;

export class Threads {
  private readonly controller = vscode.comments.createCommentController('aside', 'Aside');
  private readonly threads = new Set<Thread>();
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  /** The place at which the person may begin a thread. */
  private asked?: vscode.Location;
  private readonly follow: Follow;

  /** @param pasted the folder of what was pasted */
  constructor(
    private readonly server: Server,
    private readonly prompts: Prompts,
    private readonly pasted: vscode.Uri,
    subscriptions: vscode.ExtensionContext['subscriptions'],
  ) {
    this.controller.options = {
      prompt: 'Reply',
      placeHolder:
        'Ctrl+Enter (⌘Enter) sends it. @path, @selection, @diagnostics and @open go along',
    };
    server.onNotification('aside/turn/update', ({ conversationId, turnId, update }) => {
      const thread = this.of(conversationId, turnId);
      thread?.turn?.text.apply(update);
      this.render(thread);
    });
    server.onNotification('aside/turn/completed', (completed) => {
      const thread = this.of(completed.conversationId, completed.turnId);
      thread?.turn?.text.complete(completed);
      this.render(thread);
    });
    this.follow = new Follow(() => prompts.attends, subscriptions);
    subscriptions.push(
      this.controller,
      this.changed,
      server.onDidChangeRunning((running) => !running && this.interrupt()),
      prompts.onDidChange(() => this.threads.forEach((thread) => this.render(thread))),
      { dispose: () => this.threads.forEach(({ timer }) => clearTimeout(timer)) },
    );
  }

  /** Opens the box of a new thread at the end of what is selected, or of the thread that is there. */
  async compose(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor) throw new Error('Open a file first: Aside answers beside its lines.');
    if (!vscode.workspace.getConfiguration('comments').get('visible'))
      throw new Error('The setting comments.visible hides its threads; turn it on.');
    const { document, selection } = editor;
    const { uri } = document;
    if (!ASKABLE.includes(uri.scheme))
      throw new Error(
        `Aside cannot be asked in ${path.basename(uri.path)}, which is no text of a file; ask in a file.`,
      );
    const range = reach(selection);
    const there = this.find(
      ({ on }) => on.uri.toString() === uri.toString() && on.range?.end.line === range.end.line,
    );
    if (there) {
      there.on.collapsibleState = Expanded;
      editor.selection = new vscode.Selection(range.end, range.end);
      await vscode.commands.executeCommand('workbench.action.focusCommentOnCurrentLine');
      return;
    }
    this.asked = new vscode.Location(uri, selection);
    // VS Code lets a person begin a thread only where it may be, so it is told of the place, and asks what it is.
    await new Promise<void>((resolve) => {
      const provideCommentingRanges = (document: vscode.TextDocument) => {
        if (document.uri.toString() !== uri.toString()) return [];
        setTimeout(resolve);
        return [range];
      };
      this.controller.commentingRangeProvider = { provideCommentingRanges };
    });
    // The ranges above have arrived when this command returns.
    await vscode.commands.executeCommand('setContext', 'aside.asks', true);
    const [startLineNumber, endLineNumber, endColumn] = [
      range.start.line + 1,
      range.end.line + 1,
      range.end.character + 1,
    ];
    await vscode.commands.executeCommand('workbench.action.addComment', {
      range: { startLineNumber, endLineNumber, endColumn },
    });
  }

  /** Asks in a new thread at the end of a range. */
  ask(
    uri: vscode.Uri,
    range: vscode.Range,
    message: string,
    more: Attachment[] = [],
  ): Promise<void> {
    return this.start(this.open(uri, range), message, more);
  }

  /** A message in a thread: it begins a turn, or is added to the one that runs. */
  async say(on: vscode.CommentThread, message: string): Promise<void> {
    if (!message.trim()) return;
    const about = this.asked?.uri.toString() === on.uri.toString() ? this.asked.range : on.range;
    this.follow.begin(on);
    // One that the person has just begun is new here.
    const thread =
      this.find((it) => it.on === on) ?? this.adopt(on, about ?? new vscode.Range(0, 0, 0, 0));
    const running = thread.turn?.text.outcome === undefined && thread.turn;
    const steered =
      running &&
      this.server.request('aside/turn/steer', { turnId: running.id, message }).then(
        () => true,
        () => false,
      );
    if (!(await steered)) await this.start(thread, message, []);
  }

  /** Answers the question of a thread with what was typed below it. */
  answer(on: vscode.CommentThread, text: string): void {
    const conversationId = this.find((it) => it.on === on)?.conversationId;
    const pending = conversationId === undefined ? undefined : this.prompts.asked(conversationId);
    if (!pending) throw new Error('The question was answered meanwhile; send the text as a message.');
    pending.settle(typedAnswer(pending.prompt, text));
    this.follow.begin(on);
  }

  async cancel(on: vscode.CommentThread): Promise<void> {
    const turn = this.find((it) => it.on === on)?.turn;
    if (turn) await this.server.request('aside/turn/cancel', { turnId: turn.id });
  }

  async undo(on: vscode.CommentThread): Promise<void> {
    const thread = this.find((it) => it.on === on);
    if (!thread?.turn) return;
    const { files, untracked } = await this.server.request('aside/turn/undo', {
      turnId: thread.turn.id,
    });
    const names = files.map((uri) => vscode.workspace.asRelativePath(vscode.Uri.parse(uri)));
    thread.turn.text.note(
      `Undone: ${escaped(names.join(', ') || 'nothing')}.${untracked ? ' A command ran whose changes are not known.' : ''}`,
    );
    this.render(thread);
  }

  async resume(conversationId: string): Promise<void> {
    const { turnId } = await this.server.request('aside/turn/resume', { conversationId });
    this.render(this.of(conversationId, turnId));
  }

  remove(on: vscode.CommentThread): void {
    const thread = this.find((it) => it.on === on);
    clearTimeout(thread?.timer);
    if (thread) this.threads.delete(thread);
    on.dispose();
  }

  /** Shows the first thread that works or waits. */
  async reveal(): Promise<void> {
    const on = this.find(({ turn }) => turn !== undefined && turn.text.outcome === undefined)?.on;
    if (!on) return;
    on.collapsibleState = Expanded;
    await vscode.window.showTextDocument(on.uri, { preview: false, selection: on.range });
  }

  get list(): vscode.CommentThread[] {
    return [...this.threads].map(({ on }) => on);
  }

  /** The titles of what runs, and whether anything does. */
  get work(): { busy: boolean; tools: string[] } {
    const turns = [...this.threads].flatMap(({ turn }) =>
      turn && turn.text.outcome === undefined ? [turn.text] : [],
    );
    return { busy: turns.length > 0, tools: turns.flatMap((turn) => turn.running) };
  }

  private open(uri: vscode.Uri, range: vscode.Range): Thread {
    return this.adopt(this.controller.createCommentThread(uri, reach(range), []), range);
  }

  private adopt(on: vscode.CommentThread, about: vscode.Range): Thread {
    Object.assign(on, { collapsibleState: Expanded, label: 'Aside', range: reach(about) });
    const thread: Thread = { on, about, past: [] };
    this.threads.add(thread);
    return thread;
  }

  private find(matches: (thread: Thread) => boolean): Thread | undefined {
    return [...this.threads].find(matches);
  }

  private async start(thread: Thread, message: string, more: Attachment[]): Promise<void> {
    const { on, about, turn: last, conversationId } = thread;
    if (last) thread.past.push(last.said, answerNote(last.text, rootOf(on.uri)));
    const { id, text } = (thread.turn = {
      id: randomUUID(),
      said: note(message, YOU),
      text: new TurnText(),
    });
    this.render(thread);
    try {
      const attachments = [
        ...(last ? [] : [place(on.uri, about)]),
        ...more,
        ...(await readAttachments(message, this.pasted, on.uri, about)),
      ];
      const root = rootOf(on.uri)?.toString();
      const started = await this.server.request('aside/turn/start', {
        conversationId,
        turnId: id,
        message,
        attachments,
        root,
      });
      thread.conversationId = started.conversationId;
    } catch (error) {
      text.note(`**${escaped(sentence(error))}**`);
      text.outcome = 'failed';
    }
    this.render(thread);
  }

  /** The thread of a turn; one that was resumed from the list gets a new one beside the cursor. */
  private of(conversationId: string, turnId: string): Thread | undefined {
    const known =
      this.find((it) => it.turn?.id === turnId) ??
      this.find((it) => it.conversationId === conversationId);
    const editor = vscode.window.activeTextEditor;
    const thread = known ?? (editor && this.open(editor.document.uri, editor.selection));
    if (!thread) return undefined;
    thread.conversationId = conversationId;
    if (thread.turn?.id !== turnId)
      thread.turn = { id: turnId, said: note('(resumed)', YOU), text: new TurnText() };
    if (thread.turn.text.outcome === 'interrupted') delete thread.turn.text.outcome;
    return thread;
  }

  private interrupt(): void {
    for (const thread of this.threads) {
      if (!thread.turn || thread.turn.text.outcome !== undefined) continue;
      thread.turn.text.outcome = 'interrupted';
      thread.turn.text.note('*The server ended. The turn can be resumed.*', false);
      this.render(thread);
    }
  }

  private render(thread: Thread | undefined): void {
    if (!thread || thread.timer) return;
    const draw = () => {
      delete thread.timer;
      this.draw(thread);
    };
    thread.timer = setTimeout(
      draw,
      RENDER_MS + (thread.turn?.text.length ?? 0) / RENDER_CHARACTERS,
    );
  }

  private draw({ on, past, turn, conversationId }: Thread): void {
    if (!turn) return;
    const waiting = conversationId ? this.prompts.ofConversation(conversationId) : [];
    const { outcome, usage } = turn.text;
    on.comments = [
      ...past,
      turn.said,
      answerNote(turn.text, rootOf(on.uri)),
      ...waiting.map(promptNote),
    ].filter(({ body }) => typeof body === 'string' || body.value);
    const asks = conversationId !== undefined && this.prompts.asked(conversationId) !== undefined;
    on.contextValue = `${outcome ?? 'working'}${waiting.some(isChange) ? ' changes' : ''}${asks ? ' asks' : ''}`;
    const state = waiting.length
      ? 'waits for you'
      : outcome === undefined
        ? 'works'
        : outcome === 'completed'
          ? 'done'
          : outcome;
    on.label = `Aside: ${state}${usage && outcome ? ` · ${spent(usage)}` : ''}`;
    this.changed.fire();
    setTimeout(() => this.follow.keep(on), SHOWN_MS);
  }
}

/** The lines of a selection: one that ends before the first character of a line does not reach it. */
function reach({ start, end }: vscode.Range): vscode.Range {
  return new vscode.Range(
    start,
    end.character === 0 && end.line > start.line ? end.translate(-1) : end,
  );
}

function note(
  body: string | vscode.MarkdownString,
  author: vscode.CommentAuthorInformation,
  label?: string,
): Note {
  return {
    body,
    author,
    mode: vscode.CommentMode.Preview,
    label: label === 'completed' ? undefined : label,
  };
}

/** @param root the folder in which the answer's links to files begin */
function answerNote(text: TurnText, root: vscode.Uri | undefined): Note {
  const markdown = text.markdown() || (text.outcome === undefined ? '…' : '');
  const body = new vscode.MarkdownString(harmless(markdown));
  body.baseUri = root && vscode.Uri.joinPath(root, '/');
  return note(body, ASIDE, text.outcome);
}

/** A prompt that waits, with its actions in the note's title. */
function promptNote(prompt: Prompt): Note {
  const { kind, preview, answerType, context, label } = prompt;
  const body = [`**${escaped(question(prompt))}**`];
  if (preview?.kind === 'diff')
    body.push(escaped(vscode.workspace.asRelativePath(vscode.Uri.parse(preview.uri))));
  else if (kind !== 'question') body.push(fenced(details(prompt)));
  else if (context) body.push(fenced(context));
  if (answerType.type === 'multi_select')
    body.push(answerType.options.map((it) => `- ${escaped(it)}`).join('\n'));
  const usual = [prompt.default].flat();
  const offered = offers(prompt).map(({ label, answer }, at) => {
    const isUsual = answer?.action === 'answer' && usual.includes(answer.answer);
    const args = encodeURIComponent(JSON.stringify([prompt.promptId, at]));
    return `- [${escaped(label)}](command:${CHOOSE}?${args})${isUsual ? ' *(default)*' : ''}`;
  });
  if (!prompt.resumable) body.push(offered.join('\n'));
  const contextValue = prompt.resumable ? 'resumable' : isChange(prompt) ? 'change' : 'question';
  const markdown = new vscode.MarkdownString(body.join('\n\n'));
  // All that is of a model in it is escaped or in a block of code.
  markdown.isTrusted = { enabledCommands: [CHOOSE] };
  return {
    ...note(markdown, { name: visible(label) }, 'waits'),
    contextValue,
    promptId: prompt.promptId,
  };
}

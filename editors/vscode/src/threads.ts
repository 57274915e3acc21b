// Conversations where they were asked: a comment thread each, with the answer as it is written and the prompts that wait.
import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';

import { place, readAttachments } from './attachments';
import type { Prompts } from './prompts';
import { sentence } from './server';
import type { Server } from './server';
import { escaped, fenced, harmless, visible } from './text';
import { spent, TurnText } from './turnText';
import { details } from './widgets';
import type { Attachment, Prompt, TurnCompleted, TurnUpdate } from './wire';

/** Milliseconds between two renderings, and one more for so many characters: a long text is not worth twenty a second. */
const RENDER_MS = 50;
const RENDER_CHARACTERS = 1_000;

interface Note extends vscode.Comment {
  /** The prompt that the note is about. */
  promptId?: string;
}

interface Thread {
  readonly on: vscode.CommentThread;
  /** What was selected when it was opened. */
  readonly about: vscode.Range;
  conversationId?: string;
  /** What ended turns said. */
  past: Note[];
  turn?: { id: string; said: Note; text: TurnText };
  timer?: NodeJS.Timeout;
}

const ASIDE = { name: 'Aside' };
const YOU = { name: 'You' };

export class Threads {
  private readonly controller = vscode.comments.createCommentController('aside', 'Aside');
  private readonly threads = new Set<Thread>();
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  /** What the person was last let begin a thread about. */
  private asked?: { uri: vscode.Uri; range: vscode.Range };

  constructor(
    private readonly server: Server,
    private readonly prompts: Prompts,
    /** The folder of what was pasted. */
    private readonly pasted: vscode.Uri,
    subscriptions: vscode.ExtensionContext['subscriptions'],
  ) {
    this.controller.options = { prompt: 'Ask, or add to what Aside is doing', placeHolder: 'Message, with @path, @selection, @diagnostics or @open' };
    server.onNotification('aside/turn/update', (params) => this.update(params));
    server.onNotification('aside/turn/completed', (params) => this.completed(params));
    subscriptions.push(
      this.controller,
      this.changed,
      server.onDidChangeRunning((running) => !running && this.interrupt()),
      prompts.onDidChange(() => this.threads.forEach((thread) => this.render(thread))),
      { dispose: () => this.threads.forEach(({ timer }) => clearTimeout(timer)) },
    );
  }

  /** Opens the box of a new thread at the end of what is selected, or of the thread that is there. */
  async compose(editor: vscode.TextEditor): Promise<void> {
    const { document: { uri }, selection } = editor;
    if (!vscode.workspace.getConfiguration('comments').get('visible')) throw new Error('The setting comments.visible hides its threads; turn it on.');
    const range = reach(selection);
    const there = this.find(({ on }) => on.uri.toString() === uri.toString() && on.range?.end.line === range.end.line);
    if (there) {
      there.on.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
      editor.selection = new vscode.Selection(range.end, range.end);
      await vscode.commands.executeCommand('workbench.action.focusCommentOnCurrentLine');
      return;
    }
    this.asked = { uri, range: selection };
    // VS Code lets a person begin a thread only where it may be, so it is told of the place, and asks what it is.
    await new Promise<void>((resolve) => {
      const provideCommentingRanges = (document: vscode.TextDocument) => {
        if (document.uri.toString() !== uri.toString()) return [];
        setTimeout(resolve);
        return [range];
      };
      this.controller.commentingRangeProvider = { provideCommentingRanges };
    });
    // When this comes back, what was answered above has arrived.
    await vscode.commands.executeCommand('setContext', 'aside.asks', true);
    const [startLineNumber, endLineNumber, endColumn] = [range.start.line + 1, range.end.line + 1, range.end.character + 1];
    await vscode.commands.executeCommand('workbench.action.addComment', { range: { startLineNumber, endLineNumber, endColumn } });
  }

  /** Asks in a new thread at the end of a range. */
  ask(uri: vscode.Uri, range: vscode.Range, message: string, more: Attachment[] = []): Promise<void> {
    return this.start(this.open(uri, range), message, more);
  }

  private open(uri: vscode.Uri, range: vscode.Range): Thread {
    return this.adopt(this.controller.createCommentThread(uri, reach(range), []), range);
  }

  private adopt(on: vscode.CommentThread, about: vscode.Range): Thread {
    on.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    on.label = 'Aside';
    on.range = reach(about);
    const thread: Thread = { on, about, past: [] };
    this.threads.add(thread);
    return thread;
  }

  /** The thread; one that the person has just begun is new here. */
  private known(on: vscode.CommentThread): Thread {
    const { uri, range } = this.asked ?? {};
    const about = uri?.toString() === on.uri.toString() && range ? range : on.range;
    return this.find((it) => it.on === on) ?? this.adopt(on, about ?? new vscode.Range(0, 0, 0, 0));
  }

  /** A message in a thread: it begins a turn, or is added to the one that runs. */
  async say(on: vscode.CommentThread, message: string): Promise<void> {
    if (!message.trim()) return;
    const thread = this.known(on);
    const running = thread.turn?.text.outcome === undefined && thread.turn;
    if (running && (await this.steer(running.id, message))) return;
    await this.start(thread, message, []);
  }

  async cancel(on: vscode.CommentThread): Promise<void> {
    const id = this.find((it) => it.on === on)?.turn?.id;
    if (id) await this.server.request('aside/turn/cancel', { turnId: id });
  }

  async undo(on: vscode.CommentThread): Promise<void> {
    const thread = this.find((it) => it.on === on);
    if (!thread?.turn) return;
    const { files, untracked } = await this.server.request('aside/turn/undo', { turnId: thread.turn.id });
    const names = files.map((uri) => vscode.workspace.asRelativePath(vscode.Uri.parse(uri)));
    thread.turn.text.note(`Undone: ${escaped(names.join(', ') || 'nothing')}.${untracked ? ' A command ran whose changes are not known.' : ''}`);
    this.render(thread);
  }

  async resume(conversationId: string): Promise<void> {
    const { turnId } = await this.server.request('aside/turn/resume', { conversationId });
    const thread = this.of(conversationId, turnId);
    if (thread) this.render(thread);
  }

  remove(on: vscode.CommentThread): void {
    const thread = this.find((it) => it.on === on);
    if (!thread) return;
    clearTimeout(thread.timer);
    this.threads.delete(thread);
    on.dispose();
  }

  /** Shows the thread of a conversation, or of the first that works or waits. */
  async reveal(conversationId?: string): Promise<void> {
    const busy = (it: Thread) => it.turn !== undefined && it.turn.text.outcome === undefined;
    const thread = this.find((it) => (conversationId ? it.conversationId === conversationId : busy(it)));
    if (!thread) return;
    thread.on.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    await vscode.window.showTextDocument(thread.on.uri, { preview: false, selection: thread.on.range });
  }

  list(): vscode.CommentThread[] {
    return [...this.threads].map(({ on }) => on);
  }

  /** The titles of what runs, and whether anything does. */
  get work(): { busy: boolean; tools: string[] } {
    const turns = [...this.threads].flatMap(({ turn }) => (turn && turn.text.outcome === undefined ? [turn.text] : []));
    return { busy: turns.length > 0, tools: turns.flatMap((turn) => [...turn.running.values()]) };
  }

  private find(matches: (thread: Thread) => boolean): Thread | undefined {
    return [...this.threads].find(matches);
  }

  private async steer(turnId: string, message: string): Promise<boolean> {
    return this.server.request('aside/turn/steer', { turnId, message }).then(
      () => true,
      () => false,
    );
  }

  private async start(thread: Thread, message: string, more: Attachment[]): Promise<void> {
    const id = randomUUID();
    if (!thread.turn) more = [place(thread.on.uri, thread.about), ...more];
    else thread.past.push(thread.turn.said, this.answer(thread.turn.text, thread.turn.text.markdown()));
    const turn = { id, said: note(message, YOU), text: new TurnText() };
    thread.turn = turn;
    this.render(thread);
    try {
      const attachments = [...more, ...(await readAttachments(message, this.pasted, thread.on.uri, thread.about))];
      const { conversationId } = thread;
      const started = await this.server.request('aside/turn/start', { conversationId, turnId: id, message, attachments });
      thread.conversationId = started.conversationId;
    } catch (error) {
      turn.text.note(`**${escaped(sentence(error))}**`);
      turn.text.outcome = 'failed';
    }
    this.render(thread);
  }

  private update({ conversationId, turnId, update }: TurnUpdate): void {
    const thread = this.of(conversationId, turnId);
    thread?.turn?.text.apply(update);
    if (thread && update.kind === 'title') thread.on.label = update.title;
    if (thread) this.render(thread);
  }

  private completed(params: TurnCompleted): void {
    const thread = this.of(params.conversationId, params.turnId);
    thread?.turn?.text.complete(params);
    if (thread) this.render(thread);
  }

  /** The thread of a turn; one that was resumed from the list gets a new one beside the cursor. */
  private of(conversationId: string, turnId: string): Thread | undefined {
    const known = this.find((it) => it.turn?.id === turnId) ?? this.find((it) => it.conversationId === conversationId);
    const editor = vscode.window.activeTextEditor;
    if (!known && !editor) return undefined;
    const thread = known ?? this.open(editor!.document.uri, editor!.selection);
    thread.conversationId = conversationId;
    if (thread.turn?.id !== turnId) thread.turn = { id: turnId, said: note('(resumed)', YOU), text: new TurnText() };
    if (thread.turn.text.outcome === 'interrupted') delete thread.turn.text.outcome;
    return thread;
  }

  private interrupt(): void {
    for (const thread of this.threads) {
      if (!thread.turn || thread.turn.text.outcome !== undefined) continue;
      thread.turn.text.outcome = 'interrupted';
      thread.turn.text.note('*The server ended. The turn can be resumed.*');
      this.render(thread);
    }
  }

  private render(thread: Thread): void {
    if (thread.timer) return;
    const delay = RENDER_MS + (thread.turn?.text.length ?? 0) / RENDER_CHARACTERS;
    thread.timer = setTimeout(() => {
      delete thread.timer;
      this.draw(thread);
    }, delay);
  }

  private draw({ on, past, turn, conversationId }: Thread): void {
    if (!turn) return;
    const waiting = conversationId ? this.prompts.ofConversation(conversationId) : [];
    const { outcome, usage } = turn.text;
    const text = turn.text.markdown() || (outcome === undefined ? '…' : '');
    on.comments = [...past, turn.said, ...(text ? [this.answer(turn.text, text)] : []), ...waiting.map(promptNote)];
    on.contextValue = `${outcome ?? 'working'}${waiting.some((prompt) => prompt.preview?.kind === 'diff') ? ' changes' : ''}`;
    const state = waiting.length ? 'waits for you' : outcome === undefined ? 'works' : outcome === 'completed' ? 'done' : outcome;
    on.label = `Aside: ${state}${usage && outcome ? ` · ${spent(usage)}` : ''}`;
    this.changed.fire();
  }

  private answer(text: TurnText, markdown: string): Note {
    return note(new vscode.MarkdownString(harmless(markdown)), ASIDE, text.outcome);
  }
}

/** The lines of a selection: one that ends before the first character of a line does not reach it. */
function reach({ start, end }: vscode.Range): vscode.Range {
  return new vscode.Range(start, end.character === 0 && end.line > start.line ? end.translate(-1) : end);
}

function note(body: string | vscode.MarkdownString, author: vscode.CommentAuthorInformation, label?: string): Note {
  return { body, author, mode: vscode.CommentMode.Preview, label: label === 'completed' ? undefined : label };
}

/** A prompt that waits, with its actions in the note's title. */
function promptNote(prompt: Prompt): Note {
  const body = [`**${escaped(prompt.text)}**`];
  if (prompt.preview?.kind === 'diff') body.push(escaped(vscode.workspace.asRelativePath(vscode.Uri.parse(prompt.preview.uri))));
  else if (prompt.kind !== 'question') body.push(fenced(details(prompt)));
  else if (prompt.context) body.push(fenced(prompt.context));
  if (prompt.answerType.type === 'select' && prompt.kind === 'question') body.push(prompt.answerType.options.map((it) => `- ${escaped(it)}`).join('\n'));
  const contextValue = prompt.resumable ? 'resumable' : prompt.preview?.kind === 'diff' ? 'change' : 'question';
  const author = { name: visible(prompt.label) };
  return { ...note(new vscode.MarkdownString(body.join('\n\n')), author, 'waits'), contextValue, promptId: prompt.promptId };
}

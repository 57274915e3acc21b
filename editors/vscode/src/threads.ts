// Conversations beside the code: a comment thread each, with the answer as it is written and the prompts that wait.
import * as path from 'node:path';
import * as vscode from 'vscode';
import { place, readAttachments, refuseAdded, SYNCED } from './attachments';
import { openDocument, rootOf } from './editorTools';
import { Follow } from './follow';
import { expected, offers, typedAnswer } from './offers';
import type { Choices } from './pickers';
import { isBox, isChange, type Prompts } from './prompts';
import { runningTurn, type Talk, type Talks, type Turn } from './talks';
import { escaped, fenced, harmless, located, titled, visible } from './text';
import { Track } from './track';
import { OUTCOMES, spent, summed, type TurnText } from './turnText';
import { asker, GRACE, lasting, question, subject } from './widgets';
import type { Attachment, Prompt } from './wire';

/**
 * Milliseconds from one rendering to the next, and one more for so many characters. VS Code waits until comments were not
 * assigned for 100 ms before it shows them, so that more renderings in a second would show nothing at all.
 */
const RENDER_MS = 120;
const RENDER_CHARACTERS = 1_000;
/** The same while a prompt waits: VS Code draws every note of a thread anew, and a click on one that is drawn meanwhile is lost. */
const WAITING_MS = 2_000;
/** Milliseconds in which VS Code asks where a thread may be; a busy computer takes some seconds. */
const ASKED_MS = 20_000;
/** Milliseconds in which a box opens, once VS Code was told to open it. */
const OPENED_MS = 5_000;
/** Milliseconds after which threads that were made anew are on the screen. */
const RENEWED_MS = 500;

/** A comment; `promptId` is that of the prompt that it is about. */
type Note = vscode.Comment & { promptId?: string };

interface Thread {
  on: vscode.CommentThread;
  /** What was selected when the thread was opened, where it is by now. */
  readonly about: Track;
  /** What goes along with the first message besides these lines. */
  readonly more: Attachment[];
  talk: Talk;
  /** The conversation that is on record as the one of this place. */
  kept?: string;
  timer?: NodeJS.Timeout;
  /** When the timer ends. */
  due?: number;
  /** When it was rendered last. */
  drawnAt?: number;
  /** The notes that it shows, each with its words, and the prompts among them. */
  shown: (Note | string)[];
  waiting: Prompt[];
  /** When these came. */
  since: number;
}

/** What a message that begins the conversation of a thread has from its place. */
export interface Origin {
  given: Attachment[];
  root: vscode.Uri | undefined;
}

/** The place of a conversation, which is found again when the window is. */
type Place = { conversationId: string; uri: string; range: [number, number, number, number] };
const PLACES = 'aside.places';
/** Places that are kept, the newest. */
const MOST_PLACES = 50;

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
  /** The places at which the person may begin a thread: boxes stand there, or were closed. */
  private readonly asked: { uri: string; about: Track }[] = [];
  private readonly follow: Follow;

  /** @param pasted the folder of what was pasted */
  constructor(
    private readonly talks: Talks,
    private readonly prompts: Prompts,
    choices: Choices,
    private readonly pasted: vscode.Uri,
    private readonly state: vscode.Memento,
    subscriptions: vscode.ExtensionContext['subscriptions'],
  ) {
    const told = () => {
      const { model, mode } = choices.shown;
      const to = choices.lacksModel ? '' : ` to ${visible(model)}`;
      const placeHolder = `Ctrl+Enter (⌘Enter) sends it in mode ${mode}${to}; @ adds a file`;
      if (placeHolder === this.controller.options?.placeHolder) return;
      this.controller.options = { prompt: 'Reply', placeHolder };
      // VS Code reads it where a box is made.
      if (!isTypedIn()) this.threads.forEach((thread) => this.renew(thread));
    };
    told();
    this.follow = new Follow(() => prompts.attends, subscriptions);
    subscriptions.push(
      this.controller,
      this.changed,
      talks.onDidChange((talk) => {
        for (const thread of this.threads) if (thread.talk === talk) this.show(thread);
      }),
      prompts.onDidChange(() => this.threads.forEach((thread) => this.render(thread))),
      choices.onDidChange(told),
      vscode.workspace.onDidChangeTextDocument((change) => this.track(change)),
      { dispose: () => this.threads.forEach(({ timer }) => clearTimeout(timer)) },
    );
  }

  /** Puts the conversations back where they were, folded. One that is no more is left out. */
  async restore(): Promise<void> {
    const places = this.state.get<Place[]>(PLACES, []);
    const found = await Promise.all(
      places.map(({ conversationId }) => this.talks.get(conversationId).catch(() => undefined)),
    );
    places.forEach(({ uri, range: [line, character, endLine, endCharacter] }, at) => {
      const talk = found[at];
      if (!talk || this.find((it) => it.talk === talk)) return;
      const range = new vscode.Range(line, character, endLine, endCharacter);
      const thread = this.open(vscode.Uri.parse(uri), range, talk);
      thread.on.collapsibleState = vscode.CommentThreadCollapsibleState.Collapsed;
      this.render(thread);
    });
  }

  /** Opens the box of a new thread at the end of what is selected, or of the thread that is there. */
  async compose(editor: vscode.TextEditor): Promise<void> {
    if (!vscode.workspace.getConfiguration('comments').get('visible'))
      throw new Error('The setting comments.visible hides its threads; turn it on.');
    const { document, selection } = editor;
    const { uri } = document;
    const name = path.basename(uri.path);
    if (!ASKABLE.includes(uri.scheme))
      throw new Error(
        `Beside ${name}, which is no text of a file, no question can be asked; ask in a file, or in the view of Aside.`,
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
    const before = this.asked.findIndex(isAt(uri, range));
    const isThere = before >= 0 && boxes().length > 0;
    if (before >= 0) this.asked.splice(before, 1);
    const asked = { uri: uri.toString(), about: new Track(selection, document) };
    this.asked.push(asked);
    if (this.asked.length > MOST_PLACES) this.asked.shift();
    // VS Code lets a person begin a thread only where it may be, so it is told of the place, and asks what it is.
    const isAsked = await new Promise<boolean>((resolve) => {
      setTimeout(resolve, ASKED_MS, false);
      const provideCommentingRanges = (document: vscode.TextDocument) => {
        if (document.uri.toString() !== uri.toString()) return [];
        setTimeout(resolve, 0, true);
        return [range];
      };
      this.controller.commentingRangeProvider = { provideCommentingRanges };
    });
    if (!isAsked)
      throw new Error(`VS Code opens no box beside ${name}; try again, or ask in the view of Aside.`);
    const opens = boxOpens();
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
    // One that is open there already is not opened anew.
    if (isThere || (await opens)) return;
    this.asked.splice(this.asked.indexOf(asked), 1);
    throw new Error(`VS Code opens no box beside ${name}; ask in the view of Aside.`);
  }

  /** Opens an empty box anew, which says the model and the mode of the time at which it was made. */
  async reopen(on: vscode.CommentThread): Promise<void> {
    const editor = vscode.window.visibleTextEditors.find(
      ({ document }) => document.uri.toString() === on.uri.toString(),
    );
    if (!editor || on.comments.length || isTypedIn()) return;
    // The other threads take their room first, so that this box is in sight.
    await new Promise((resolve) => setTimeout(resolve, RENEWED_MS));
    on.dispose();
    await this.compose(editor);
  }

  /** Asks in a new thread at the end of a range. */
  ask(
    uri: vscode.Uri,
    range: vscode.Range,
    message: string,
    more: Attachment[] = [],
  ): Promise<void> {
    return this.start(this.open(uri, range, undefined, more), message);
  }

  /** A message in a thread: it begins a turn, or is added to the one that runs. */
  async say(on: vscode.CommentThread, message: string): Promise<void> {
    if (!message.trim()) return;
    const range = on.range ?? new vscode.Range(0, 0, 0, 0);
    const asked = this.asked.find(isAt(on.uri, range));
    this.follow.begin(on);
    // One that the person has just begun is new here.
    const thread =
      this.find((it) => it.on === on) ?? this.adopt(on, asked ? rangeOf(asked.about) : range);
    if (runningTurn(thread.talk)) refuseAdded(message);
    if (!(await this.talks.steer(thread.talk, message))) await this.start(thread, message);
  }

  /** Sends the last message again, with the same lines. */
  async retry(on: vscode.CommentThread): Promise<void> {
    const thread = this.find((it) => it.on === on);
    const last = thread?.talk.turns.at(-1);
    // The second click of two finds the turn of the first one.
    if (thread && last && !runningTurn(thread.talk)) await this.start(thread, last.message, true);
  }

  /** What a message has from the place of its thread, if there is one and the message is the first one. */
  originOf(talk: Talk): Origin | undefined {
    const thread = this.find((it) => it.talk === talk);
    return thread && { given: talk.turns.length ? [] : given(thread), root: rootOf(thread.on.uri) };
  }

  /** Goes on with a conversation in the threads of the one that it takes the place of. */
  replace(before: Talk, talk: Talk): void {
    for (const thread of this.threads)
      if (thread.talk === before) {
        thread.talk = talk;
        this.show(thread);
      }
  }

  /** Answers the question of a thread with what was typed below it. */
  answer(on: vscode.CommentThread, text: string): void {
    const pending = this.prompts.asked(this.talkOf(on)?.conversationId);
    if (!pending)
      throw new Error('The question was answered meanwhile; send the text as a message.');
    pending.settle(typedAnswer(pending.prompt, text));
    this.follow.begin(on);
  }

  talkOf(on: vscode.CommentThread): Talk | undefined {
    return this.find((it) => it.on === on)?.talk;
  }

  remove(on: vscode.CommentThread): void {
    const thread = this.find((it) => it.on === on);
    clearTimeout(thread?.timer);
    if (thread) this.threads.delete(thread);
    on.dispose();
    this.keepPlaces();
  }

  /** Closes the threads of a conversation that is no more. */
  forget(conversationId: string): void {
    for (const { on, talk } of this.threads)
      if (talk.conversationId === conversationId) this.remove(on);
  }

  /** Shows the thread of a conversation; whether there is one. */
  async reveal(talk: Talk): Promise<boolean> {
    const on = this.find((it) => it.talk === talk)?.on;
    if (!on) return false;
    on.collapsibleState = Expanded;
    await vscode.window.showTextDocument(on.uri, { preview: false, selection: on.range });
    return true;
  }

  get list(): vscode.CommentThread[] {
    return [...this.threads].map(({ on }) => on);
  }

  private open(
    uri: vscode.Uri,
    range: vscode.Range,
    talk?: Talk,
    more: Attachment[] = [],
  ): Thread {
    const on = this.controller.createCommentThread(uri, reach(range), []);
    return this.adopt(on, range, talk, more);
  }

  private adopt(
    on: vscode.CommentThread,
    about: vscode.Range,
    talk = this.talks.create(),
    more: Attachment[] = [],
  ): Thread {
    Object.assign(on, { collapsibleState: Expanded, label: 'Aside', range: reach(about) });
    const track = new Track(about, openDocument(on.uri));
    const thread: Thread = { on, about: track, more, talk, shown: [], waiting: [], since: 0 };
    this.threads.add(thread);
    return thread;
  }

  private find(matches: (thread: Thread) => boolean): Thread | undefined {
    return [...this.threads].find(matches);
  }

  /** Moves lines with their text. VS Code moves a thread on the screen alone, and leaves its range as it was. */
  private track({ document, contentChanges, reason }: vscode.TextDocumentChangeEvent): void {
    if (!contentChanges.length) return;
    const key = document.uri.toString();
    for (const { uri, about } of this.asked)
      if (uri === key) about.edited(contentChanges, reason !== undefined, document);
    let moves = false;
    for (const { on, about } of this.threads) {
      if (on.uri.toString() !== key) continue;
      about.edited(contentChanges, reason !== undefined, document);
      const before = on.range?.end.line;
      const range = reach(rangeOf(about));
      const moved = range.end.line !== before || range.start.line !== on.range?.start.line;
      // Where text came for the lines around it, VS Code leaves the sign elsewhere, and is told the same place again.
      const replaced = contentChanges.some(
        ({ range: { start, end } }) =>
          start.line < end.line && before !== undefined && start.line <= before && before <= end.line,
      );
      if (!moved && !replaced) continue;
      if (!moved) on.range = new vscode.Range(range.start, range.end.translate(0, 1));
      on.range = range;
      moves ||= moved;
    }
    if (moves) this.keepPlaces();
  }

  private async start(thread: Thread, message: string, isAgain = false): Promise<void> {
    const { on, about, talk } = thread;
    const here = isAgain || !talk.turns.length ? given(thread) : [];
    const attach = async () => [
      ...here,
      ...(await readAttachments(message, this.pasted, on.uri, rangeOf(about))),
    ];
    await this.talks.start(talk, message, attach, rootOf(on.uri));
  }

  /** Shows the same in a thread with another box. */
  private renew(thread: Thread): void {
    const { on: before } = thread;
    const { uri, range, comments, collapsibleState, label, contextValue } = before;
    if (!range) return;
    before.dispose();
    const on = this.controller.createCommentThread(uri, range, comments);
    thread.on = Object.assign(on, { collapsibleState, label, contextValue });
    this.follow.moved(before, on);
    this.changed.fire();
  }

  /** Shows what a thread has by now. */
  private show(thread: Thread): void {
    if (thread.kept !== thread.talk.conversationId) this.keepPlaces();
    this.render(thread);
  }

  private keepPlaces(): void {
    const places = [...this.threads].flatMap((thread): Place[] => {
      const { on, talk } = thread;
      const { conversationId } = talk;
      thread.kept = conversationId;
      const { start, end } = thread.about.span;
      const range: Place['range'] = [start.line, start.character, end.line, end.character];
      return conversationId && SYNCED.includes(on.uri.scheme)
        ? [{ conversationId, uri: on.uri.toString(), range }]
        : [];
    });
    void this.state.update(PLACES, places.slice(-MOST_PLACES));
  }

  private render(thread: Thread): void {
    const due = this.dueOf(thread);
    if (thread.timer && thread.due! <= due) return;
    clearTimeout(thread.timer);
    const draw = () => {
      delete thread.timer;
      this.draw(thread);
      thread.drawnAt = Date.now();
    };
    thread.due = due;
    thread.timer = setTimeout(draw, Math.max(0, due - Date.now()));
  }

  /** When a thread is drawn next: at once while prompts come and go, and seldom as soon as a click on one counts. */
  private dueOf(thread: Thread): number {
    const { talk, drawnAt = 0, waiting, since } = thread;
    const length = talk.turns.at(-1)?.text.length ?? 0;
    const isClicked = waiting.length && Date.now() - since > GRACE;
    const seldom = isClicked && isSame(this.waitingIn(talk), waiting);
    return drawnAt + (seldom ? WAITING_MS : RENDER_MS + length / RENDER_CHARACTERS);
  }

  private waitingIn({ conversationId }: Talk): Prompt[] {
    return conversationId ? this.prompts.ofConversation(conversationId) : [];
  }

  private draw(thread: Thread): void {
    const { on, talk } = thread;
    const { conversationId, turns } = talk;
    const last = turns.at(-1);
    if (!last) return;
    const waiting = this.waitingIn(talk);
    if (!isSame(waiting, thread.waiting)) Object.assign(thread, { waiting, since: Date.now() });
    const { outcome } = last.text;
    const notes = turns.flatMap((turn) => notesOf(turn, rootOf(on.uri)));
    put(thread, [...notes, ...waiting.map(promptNote)]);
    const asks = this.prompts.asked(conversationId) !== undefined;
    on.contextValue = `${outcome ?? 'working'}${waiting.some(isChange) ? ' changes' : ''}${last.text.changed ? ' changed' : ''}${last.text.lacksKey ? ' keyless' : ''}${asks ? ' asks' : ''}`;
    const state = waiting.length ? 'waits for you' : outcome ? OUTCOMES[outcome] : 'works';
    const usage = summed(turns.flatMap(({ text }) => text.usage ?? []));
    on.label = `Aside: ${state}${usage && outcome ? ` · ${spent(usage)}` : ''}`;
    this.changed.fire();
    this.follow.changed(on);
  }
}

const boxes = (): vscode.TextDocument[] => vscode.workspace.textDocuments.filter(isBox);

/** Whether there is a text in the box of a thread. */
const isTypedIn = (): boolean => boxes().some((it) => it.getText());

/** Whether the box of a thread opens from now on: beside some files, VS Code opens none. */
function boxOpens(): Promise<boolean> {
  return new Promise((resolve) => {
    const listening = vscode.workspace.onDidOpenTextDocument(
      (document) => isBox(document) && end(true),
    );
    const late = setTimeout(() => end(false), OPENED_MS);
    const end = (isOpened: boolean) => {
      clearTimeout(late);
      listening.dispose();
      resolve(isOpened);
    };
  });
}

const isSame = (all: unknown[], others: unknown[]): boolean =>
  all.length === others.length && all.every((it, at) => it === others[at]);

/** Shows notes in a thread, unless they are those that it shows. */
function put(thread: Thread, all: Note[]): void {
  const notes = all.filter(({ body }) => typeof body === 'string' || body.value);
  const shown = notes.flatMap((it) => [it, wordsOf(it)]);
  if (isSame(shown, thread.shown)) return;
  Object.assign(thread, { shown });
  thread.on.comments = notes;
}

const wordsOf = ({ body, label }: Note): string =>
  JSON.stringify([typeof body === 'string' ? body : body.value, label]);

const given = ({ on, about, more }: Thread): Attachment[] => [
  place(on.uri, rangeOf(about)),
  ...more,
];

const rangeOf = ({ span: { start, end } }: Track): vscode.Range =>
  new vscode.Range(start.line, start.character, end.line, end.character);

/** Whether a place is the one beside the last line of a range. */
const isAt =
  (of: vscode.Uri, range: vscode.Range) =>
  ({ uri, about }: { uri: string; about: Track }): boolean =>
    uri === of.toString() && reach(rangeOf(about)).end.line === range.end.line;

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
    label,
  };
}

/** What was said and answered in a turn. One that is over is written once. */
function notesOf(turn: Turn, root: vscode.Uri | undefined): Note[] {
  const written = WRITTEN.get(turn);
  const { parts, outcome } = turn.text;
  if (written && outcome && written.count === parts.length && written.outcome === outcome)
    return written.notes;
  const [said, answer] = [note(turn.message || '(resumed)', YOU), answerNote(turn.text, root)];
  // VS Code draws a note that is the same object where it is, and a new one from nothing.
  const notes = written ? written.notes : [said, answer];
  Object.assign(notes[1]!, answer);
  WRITTEN.set(turn, { notes, count: parts.length, outcome });
  return notes;
}
const WRITTEN = new WeakMap<Turn, { notes: Note[]; count: number; outcome: TurnText['outcome'] }>();

/** @param root the folder in which the answer's links to files begin */
function answerNote(text: TurnText, root: vscode.Uri | undefined): Note {
  const markdown = text.markdown() || (text.outcome === undefined ? '…' : '');
  const placed = root ? located(markdown, (path, line) => addressOf(root, path, line)) : markdown;
  const body = new vscode.MarkdownString(harmless(placed));
  body.baseUri = root && vscode.Uri.joinPath(root, '/');
  const { outcome } = text;
  return note(body, ASIDE, outcome && outcome !== 'completed' ? OUTCOMES[outcome] : undefined);
}

/** The address of a line of a file, in which no parenthesis ends the link. */
function addressOf(root: vscode.Uri, file: string, line: number): string {
  const { remoteName, uiKind } = vscode.env;
  // What a window calls the files of another computer is not known here, and a path that it makes an address of has no line.
  if (remoteName !== undefined || uiKind === vscode.UIKind.Web) return file;
  let name = file;
  try {
    name = decodeURIComponent(file);
  } catch {
    // It is written as it is.
  }
  const address = vscode.Uri.joinPath(root, name).with({ fragment: `L${line}` });
  return address.toString().replace(/[()]/g, (it) => (it === '(' ? '%28' : '%29'));
}

/** A prompt that waits, which is one note for as long as it does. */
function promptNote(prompt: Prompt): Note {
  const note = PROMPTS.get(prompt) ?? newPromptNote(prompt);
  PROMPTS.set(prompt, note);
  return note;
}
const PROMPTS = new WeakMap<Prompt, Note>();

/** A prompt with its actions in the note's title. */
function newPromptNote(prompt: Prompt): Note {
  const { kind, preview, answerType, context } = prompt;
  const body = [`**${titled(question(prompt))}**`];
  if (preview?.kind === 'diff')
    body.push(escaped(vscode.workspace.asRelativePath(vscode.Uri.parse(preview.uri))));
  else if (kind !== 'question') body.push(fenced(subject(prompt)), lasting(prompt).map(escaped).join(' '));
  else if (context) body.push(fenced(context));
  const format = expected(prompt);
  if (format) body.push(escaped(format));
  if (answerType.type === 'multi_select')
    body.push(answerType.options.map((it) => `- ${escaped(it)}`).join('\n'));
  const usual = [prompt.default].flat();
  const offered = offers(prompt).map(({ label, answer }, at) => {
    const isUsual = answer?.action === 'answer' && usual.includes(answer.answer);
    const args = encodeURIComponent(JSON.stringify([prompt.promptId, at]));
    return `- [${escaped(label)}](command:${CHOOSE}?${args})${isUsual ? ' *(default)*' : ''}`;
  });
  body.push(offered.join('\n'));
  const contextValue = prompt.resumable ? 'resumable' : isChange(prompt) ? 'change' : 'question';
  const markdown = new vscode.MarkdownString(body.join('\n\n'));
  // All that is of a model in it is escaped or in a block of code.
  markdown.isTrusted = { enabledCommands: [CHOOSE] };
  return {
    ...note(markdown, { name: asker(prompt) }, 'waits'),
    contextValue,
    promptId: prompt.promptId,
  };
}

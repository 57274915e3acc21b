// The prompts that wait for the person, who turns to them when he likes. Each is answered exactly once.
import * as vscode from 'vscode';
import { allowAll, isAllowed } from './editorTools';
import type { Server } from './server';
import type { Answer, Prompt } from './wire';
import { offers } from './offers';
import {
  ALLOW_TOOLS,
  allowing,
  declineWithNote,
  GRACE,
  PAGE,
  pageOf,
  question,
  show,
  type Showing,
} from './widgets';

export interface Pending {
  prompt: Prompt;
  /** Sends the answer; whatever comes after the first has no effect. */
  settle: (answer: Answer, became?: Became) => void;
  /** The time at which it came, or moved. What is clicked right after that was meant for something else. */
  since: number;
  /** What became of what it is about, as soon as it is settled. */
  became?: Became;
  /** Cancelled when the prompt is settled or gone. */
  over: vscode.CancellationToken;
}

/** What becomes of a call that a prompt is about; the server may settle a prompt without a person. */
export type Became = 'taken' | 'refused' | 'elsewhere' | 'gone';

const DISMISSED = {
  permitted: 'taken',
  remembered: 'taken',
  answered_elsewhere: 'elsewhere',
  withdrawn: 'gone',
} as const;

const becameOf = (answer: Answer): Became =>
  answer.action === 'cancel'
    ? 'gone'
    : answer.action === 'answer' && answer.answer !== 'no' && answer.answer !== false
      ? 'taken'
      : 'refused';

/** The scheme of what is typed in the box of a thread. */
export const BOX = 'comment';
export const isBox = ({ uri }: vscode.TextDocument): boolean => uri.scheme === BOX;

export const isChange = ({ preview }: Prompt): boolean => preview?.kind === 'diff';

export class Prompts {
  private readonly open = new Map<string, Pending>();
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  /** Where changes of files are decided. */
  review?: { open(prompts: Prompt[]): Promise<void>; accept(prompt: Prompt): Promise<void> };
  /** The prompt on the screen, and a token that takes it off. */
  private shown?: { done: Promise<unknown>; off: vscode.CancellationTokenSource };
  /** A prompt of an interrupted turn that is shown as soon as the turn goes on. */
  private awaited?: string;
  /** Whether the person wrote in a thread or answered a prompt, and did nothing else since. */
  attends = false;

  constructor(
    private readonly server: Server,
    subscriptions: vscode.ExtensionContext['subscriptions'],
  ) {
    const leave = () => (this.attends = false);
    let beside = vscode.window.activeTextEditor;
    subscriptions.push(
      this.changed,
      // A cursor that has no kind was moved by an edit: of a program, or of a person in the box of a message, which tells it below.
      vscode.window.onDidChangeTextEditorSelection(({ kind }) => kind !== undefined && leave()),
      // Some time after a message was sent, VS Code calls the editor beside its box the active one. Nobody moved then.
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        const inBox = editor !== undefined && isBox(editor.document);
        if (inBox || editor !== beside) leave();
        if (!inBox) beside = editor;
      }),
      vscode.window.onDidChangeActiveTerminal(leave),
      // Whoever reads a long answer and touches nothing has not left, though VS Code calls the window inactive then.
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (!focused) leave();
        else void this.recover().catch(() => undefined);
      }),
      // Documents are changed by programs, too: VS Code writes its settings, and Aside the files of an answer. A person undoes,
      // or types in a box; one that is emptied was sent.
      vscode.workspace.onDidChangeTextDocument(
        ({ document, contentChanges, reason }) =>
          (reason !== undefined ||
            (contentChanges.length && isBox(document) && document.getText())) &&
          leave(),
      ),
      vscode.workspace.registerTextDocumentContentProvider(PAGE, {
        provideTextDocumentContent: ({ query }) => this.textOf(query),
      }),
      server.onDidChangeRunning((running) =>
        running ? void this.recover() : this.list.forEach(({ prompt }) => this.cancel(prompt)),
      ),
    );
    server.onRequest('aside/prompt', (prompt, token) => this.ask(prompt, token));
    server.onNotification('aside/prompt/dismiss', (prompt) =>
      this.cancel(prompt, DISMISSED[prompt.reason]),
    );
  }

  get list(): Pending[] {
    return [...this.open.values()];
  }

  get(promptId: string): Pending | undefined {
    return this.open.get(promptId);
  }

  cancel({ promptId }: Pick<Prompt, 'promptId'>, became?: Became): void {
    this.open.get(promptId)?.settle({ action: 'cancel' }, became);
  }

  /** Drops what was left open by the last server, in a conversation whose turn goes on or is over: what still waits is asked anew. */
  dropLeft(conversationId: string | undefined): void {
    for (const { prompt } of this.list)
      if (prompt.resumable && prompt.conversationId === conversationId) this.cancel(prompt, 'gone');
  }

  ofConversation(conversationId: string): Prompt[] {
    return this.list.flatMap(({ prompt }) =>
      prompt.conversationId === conversationId ? [prompt] : [],
    );
  }

  /** Shows this prompt, or the waiting ones one after another; it ends where one is hidden. */
  async turnTo(promptId?: string, sudden = false, answered = 0): Promise<void> {
    // The prompt on the screen makes room for a person's choice, even if it is shown again: a click takes its focus.
    if (!sudden) this.shown?.off.cancel();
    if (!sudden) await this.shown?.done;
    const first = promptId === undefined ? this.next() : this.open.get(promptId);
    if (!first || this.shown) return;
    const { turnId } = first.prompt;
    const open = this.list.filter(({ prompt }) => prompt.turnId === turnId).length;
    const position = { n: answered + 1, of: answered + open };
    const next = (await this.showOne(first, { sudden, position })) && this.next(turnId);
    if (next)
      return this.turnTo(
        next.prompt.promptId,
        true,
        next.prompt.turnId === turnId ? answered + 1 : 0,
      );
  }

  /** Gives an answer that was offered beside the prompt. */
  async choose(promptId: string, at: number): Promise<void> {
    const pending = this.clicked(promptId);
    const offer = pending && offers(pending.prompt)[at];
    if (!offer) return;
    if (offer.answer) pending.settle(offer.answer);
    else await this.turnTo(promptId);
  }

  /** Takes a change beside which the whole of it is shown. */
  async accept(promptId: string): Promise<void> {
    const pending = this.clicked(promptId);
    if (pending) await this.review?.accept(pending.prompt);
  }

  /** The prompt that a click is about, unless it came right before the click. */
  private clicked(promptId: string): Pending | undefined {
    const pending = this.open.get(promptId);
    return pending && Date.now() - pending.since >= GRACE ? pending : undefined;
  }

  /** The question that a text typed in this conversation answers: the one that came first. */
  asked(conversationId: string | undefined): Pending | undefined {
    return this.list.find(
      ({ prompt }) =>
        prompt.conversationId === conversationId && prompt.kind === 'question' && !prompt.resumable,
    );
  }

  async decline(promptId: string): Promise<void> {
    const pending = this.open.get(promptId);
    const answer = pending && (await declineWithNote());
    if (answer) pending.settle(answer);
  }

  /**
   * The next prompt to show, one of this turn first. After an answer, changes of files are left out, since they are
   * decided elsewhere, and so are tools that the user just allowed, since the server answers for them.
   */
  private next(turnId?: string): Pending | undefined {
    const isLeftOut = (prompt: Prompt) =>
      isChange(prompt) || (prompt.kind === 'runTool' && isAllowed(prompt.tool.name));
    const asked = this.list.filter(({ prompt }) => turnId === undefined || !isLeftOut(prompt));
    return (
      asked.find(({ prompt }) => prompt.turnId === turnId) ??
      asked.find(({ prompt }) => !isChange(prompt)) ??
      asked[0]
    );
  }

  /** Whether it was answered. */
  private async showOne(
    { prompt, settle, over }: Pending,
    how: Pick<Showing, 'sudden' | 'position'>,
  ): Promise<boolean> {
    const { conversationId, promptId } = prompt;
    if (prompt.resumable) {
      // The second click of two asks for nothing more.
      if (this.awaited === promptId) return false;
      this.awaited = promptId;
      try {
        await this.server.request('aside/turn/resume', { conversationId });
      } catch (error) {
        this.awaited = undefined;
        throw error;
      }
    } else if (isChange(prompt)) {
      await this.review?.open(
        this.ofConversation(conversationId).filter((it) => isChange(it) && !it.resumable),
      );
    } else {
      const off = new vscode.CancellationTokenSource();
      over.onCancellationRequested(() => off.cancel());
      const done = show(prompt, { over: off.token, ...how }).finally(
        () => (this.shown = undefined),
      );
      this.shown = { done, off };
      const answer = await done;
      if (answer && !over.isCancellationRequested) {
        settle(answer === ALLOW_TOOLS ? allowing(prompt) : answer);
        // The server then answers the other prompts about these tools.
        if (answer === ALLOW_TOOLS) await allowAll();
        return (this.attends = true);
      }
      // A message box cannot be taken off the screen.
      if (answer)
        void vscode.window.showWarningMessage(
          `Aside: the answer to “${question(prompt)}” came too late and was not sent. What still waits is in the status bar.`,
        );
    }
    return false;
  }

  private ask(prompt: Prompt, token: vscode.CancellationToken): Promise<Answer> {
    return new Promise((resolve) => {
      this.add(prompt, resolve);
      token.onCancellationRequested(() => this.cancel(prompt));
      const awaited = this.awaited === prompt.promptId;
      if (awaited) this.awaited = undefined;
      // Whatever else opened would take keys that are meant for where the person is, which VS Code tells nobody.
      if (awaited) void this.turnTo(prompt.promptId, true);
    });
  }

  private add(prompt: Prompt, resolve: (answer: Answer) => void): void {
    const over = new vscode.CancellationTokenSource();
    const settle = (answer: Answer, became = becameOf(answer)) => {
      if (this.open.get(prompt.promptId) !== pending) return;
      this.open.delete(prompt.promptId);
      pending.became = became;
      // The others of its conversation move to where it was, and the second click of two is for none of them.
      for (const it of this.list)
        if (it.prompt.conversationId === prompt.conversationId) it.since = Date.now();
      resolve(answer);
      over.cancel();
      this.changed.fire();
    };
    const pending: Pending = { prompt, over: over.token, since: Date.now(), settle };
    this.cancel(prompt);
    this.open.set(prompt.promptId, pending);
    this.changed.fire();
  }

  private textOf(promptId: string): string {
    const pending = this.open.get(promptId);
    return pending ? pageOf(pending.prompt) : '';
  }

  /** Takes the prompts of interrupted turns: of a server that crashed, or of an earlier day. Other windows answer them, too. */
  async recover(): Promise<void> {
    if (!this.server.isRunning) return;
    const { prompts } = await this.server.request('aside/prompt/pending', {});
    const waiting = new Set(prompts.map(({ promptId }) => promptId));
    // A turn that was interrupted again before it asked goes on with the next click.
    if (prompts.some((it) => it.resumable && it.promptId === this.awaited)) this.awaited = undefined;
    for (const { prompt } of this.list)
      if (prompt.resumable && !waiting.has(prompt.promptId)) this.cancel(prompt, 'elsewhere');
    for (const prompt of prompts)
      if (prompt.resumable && !this.open.has(prompt.promptId)) this.add(prompt, () => undefined);
  }
}

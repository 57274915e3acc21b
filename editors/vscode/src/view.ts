// The view of one conversation: a page that draws what it is sent, and sends what the person did. Its text is the server's.
import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import { readAttachments, refuseAdded } from './attachments';
import { diffBlocks, linesOf } from './blocks';
import { keepReplaced } from './conversations';
import { mentions, written } from './mentions';
import { expected, offers, typedAnswer } from './offers';
import { LACKING } from './keys';
import type { Choices } from './pickers';
import { isChange, type Prompts } from './prompts';
import type { FromView, ShownPrompt, ShownState, ShownTurn, ToView } from './shown';
import { runningTurn, type Talk, type Talks, type Turn } from './talks';
import { counted, sentence, visible } from './text';
import type { Threads } from './threads';
import { spent, summed, type Part } from './turnText';
import { asker, lasting, question, subject } from './widgets';
import type { Prompt } from './wire';

const VIEW = 'aside.conversation';
/** The conversation that was shown, by its id. */
const SHOWN = 'aside.shown';
/** Milliseconds between two drawings. */
const DRAW_MS = 80;
/** Lines of a change that the view shows; the whole is in the diff. */
const DIFF_LINES = 40;
/** Things to mention that are offered at once. */
const MENTIONS = 12;

export class View implements vscode.WebviewViewProvider {
  private view?: vscode.WebviewView;
  private talk: Talk;
  private timer?: NodeJS.Timeout;
  /** What the page has of each turn, by its place. */
  private sent: { turn: string; parts: Part[] }[] = [];
  private wanted?: 'box' | 'answers';
  /** Whether a conversation is about to take the place of the one that is shown. */
  private replaces = false;
  private readonly shows = new vscode.EventEmitter<string | undefined>();
  /** Tells the id of the conversation that is shown, of one that the server has. */
  readonly onDidShow = this.shows.event;

  constructor(
    private readonly talks: Talks,
    private readonly threads: Threads,
    private readonly prompts: Prompts,
    private readonly choices: Choices,
    private readonly pasted: vscode.Uri,
    private readonly context: vscode.ExtensionContext,
  ) {
    this.talk = talks.create();
    context.subscriptions.push(
      vscode.window.registerWebviewViewProvider(VIEW, this),
      talks.onDidChange((talk) => talk === this.talk && this.draw()),
      prompts.onDidChange(() => this.draw()),
      choices.onDidChange(() => this.draw()),
      this.shows,
      { dispose: () => clearTimeout(this.timer) },
    );
  }

  /** What is shown, for tests and other extensions. */
  get shown(): Talk {
    return this.talk;
  }

  async resolveWebviewView(view: vscode.WebviewView): Promise<void> {
    this.view = view;
    const { webview } = view;
    const root = this.context.extensionUri;
    webview.options = {
      enableScripts: true,
      localResourceRoots: [vscode.Uri.joinPath(root, 'dist')],
    };
    webview.onDidReceiveMessage((message: FromView) =>
      this.hear(message).catch((error: unknown) =>
        vscode.window.showErrorMessage(`Aside: ${sentence(error)}`),
      ),
    );
    view.onDidDispose(() => (this.view = undefined));
    view.onDidChangeVisibility(() => this.badge());
    webview.html = page(webview, root);
    const last = this.context.workspaceState.get<string>(SHOWN);
    if (last && !this.talk.turns.length) await this.show(last).catch(() => undefined);
  }

  /** Shows a conversation, or an empty one; `focus` also brings the view up. */
  async show(conversationId?: string, focus?: 'box' | 'answers'): Promise<void> {
    const talk = conversationId ? await this.talks.get(conversationId) : this.talks.create();
    this.turnTo(talk);
    void this.talks.refresh().catch(() => undefined);
    if (focus) await this.focus(focus);
  }

  /** Goes on with the interrupted turn of a conversation, in sight; whatever has the keys keeps them. */
  async resume(conversationId: string): Promise<void> {
    await this.show(conversationId);
    if (this.view) this.view.show(true);
    else await vscode.commands.executeCommand(`${VIEW}.focus`, { preserveFocus: true });
    await this.talks.resume(this.talk);
  }

  async focus(on: 'box' | 'answers'): Promise<void> {
    this.wanted = on;
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    this.post({ kind: 'focus', on });
  }

  /** Shows an empty conversation in place of one that is no more. */
  forget(conversationId: string): void {
    if (this.talk.conversationId === conversationId) this.turnTo(this.talks.create());
  }

  private turnTo(talk: Talk): void {
    this.talk = talk;
    this.keep();
    this.whole();
  }

  private keep(): void {
    const { conversationId } = this.talk;
    void this.context.workspaceState.update(SHOWN, conversationId);
    this.shows.fire(conversationId);
  }

  private async hear(message: FromView): Promise<void> {
    const { talk } = this;
    switch (message.kind) {
      case 'ready':
        this.whole();
        if (this.wanted) this.post({ kind: 'focus', on: this.wanted });
        this.wanted = undefined;
        return;
      case 'send':
        return this.send(message.text, message.instead);
      case 'answer':
        this.answer(message.text);
        return;
      case 'choose':
        return this.prompts.choose(message.promptId, message.at);
      case 'accept':
        return this.prompts.accept(message.promptId);
      case 'decline':
        return this.prompts.decline(message.promptId);
      case 'skip':
        this.prompts.cancel(message);
        return;
      case 'undo':
        return this.talks.undo(
          talk,
          talk.turns.find(({ id }) => id === message.turnId),
        );
      case 'copy':
        return vscode.env.clipboard.writeText(message.text);
      case 'insert':
        return insert(message.text);
      case 'open':
        return open(message.href);
      case 'typing':
        // Whoever types here has left the thread in which he wrote.
        this.prompts.attends = false;
        return;
      case 'mention':
        return this.mention(message.typed);
      case 'stop':
        return this.talks.cancel(talk);
      case 'resume':
        return this.talks.resume(talk);
      case 'new':
        return this.show(undefined, 'box');
      case 'model':
        return vscode.commands.executeCommand('aside.pickModel');
      case 'mode':
        return vscode.commands.executeCommand('aside.pickMode');
      case 'key':
        return this.enterKey(talk.turns.find(({ id }) => id === message.turnId));
      case 'tour':
        return vscode.commands.executeCommand('aside.takeTour');
      case 'ollama':
        return vscode.commands.executeCommand('aside.getOllama');
    }
  }

  /** @param turn what is asked again with the key */
  private async enterKey(turn: Turn | undefined): Promise<void> {
    const isEntered = await vscode.commands.executeCommand<boolean>('aside.enterKey');
    if (isEntered && turn) await this.send(turn.message, turn.id);
  }

  /** @param instead the turn that the message takes the place of, with all after it */
  private async send(text: string, instead?: string): Promise<void> {
    if (instead !== undefined && !(await this.replace(text, instead))) return;
    const { talk } = this;
    try {
      if (runningTurn(talk)) refuseAdded(text);
    } catch (error) {
      this.post({ kind: 'draft', text, problem: sentence(error) });
      return;
    }
    if (await this.talks.steer(talk, text)) return;
    const nowhere = new vscode.Range(0, 0, 0, 0);
    const { document, selection = nowhere } = vscode.window.activeTextEditor ?? {};
    const uri = document?.uri ?? vscode.workspace.workspaceFolders?.[0]?.uri ?? this.pasted;
    // The first message of a thread goes along with its lines, wherever it is sent again.
    const { given = [], root } = this.threads.originOf(talk) ?? {};
    const attach = async () => [
      ...given,
      ...(await readAttachments(text, this.pasted, uri, selection)),
    ];
    await this.talks.start(talk, text, attach, root);
    if (talk === this.talk) this.keep();
  }

  /** Goes on without a turn and those after it; whether the message is still to be sent. */
  private async replace(text: string, turnId: string): Promise<boolean> {
    const before = this.talk;
    if (this.replaces) return false;
    if (!before.turns.some(({ id }) => id === turnId)) {
      // The first of two clicks sent it.
      if (before.turns.at(-1)?.message !== text)
        this.post({ kind: 'draft', text, problem: 'The message in whose place this one was is gone.' });
      return false;
    }
    this.replaces = true;
    try {
      this.turnTo(await this.talks.before(before, turnId));
      this.threads.replace(before, this.talk);
      const { conversationId } = before;
      if (conversationId) await keepReplaced(this.context.workspaceState, conversationId);
      return true;
    } finally {
      this.replaces = false;
    }
  }

  private async mention(typed: string): Promise<void> {
    const all = (await mentions(typed)).slice(0, MENTIONS).map(({ name, sought, detail }) => ({
      text: written(name),
      label: sought ?? name,
      detail,
    }));
    this.post({ kind: 'mentions', typed, all });
  }

  private answer(text: string): void {
    const pending = this.prompts.asked(this.talk.conversationId);
    try {
      if (!pending)
        throw new Error('The question was answered meanwhile; send the text as a message.');
      pending.settle(typedAnswer(pending.prompt, text));
    } catch (error) {
      this.post({ kind: 'draft', text, problem: sentence(error) });
    }
  }

  private post(message: ToView): void {
    void this.view?.webview.postMessage(message);
  }

  private whole(): void {
    this.sent = this.talk.turns.map((turn) => this.sentOf(turn));
    const turns = this.talk.turns.map((turn) => ({
      turn: this.shownTurn(turn),
      parts: turn.text.parts,
    }));
    this.post({ kind: 'talk', turns });
    this.rest();
  }

  private draw(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.changes();
      this.rest();
    }, DRAW_MS);
  }

  /** Sends of each turn what is not there yet. */
  private changes(): void {
    this.talk.turns.forEach((turn, at) => {
      const before = this.sent[at];
      const now = this.sentOf(turn);
      const from = now.parts.findIndex((part, index) => before?.parts[index] !== part);
      const isSame = from < 0 && before?.parts.length === now.parts.length;
      if (isSame && before.turn === now.turn) return;
      const first = from < 0 ? now.parts.length : from;
      this.sent[at] = now;
      this.post({
        kind: 'turn',
        at,
        turn: this.shownTurn(turn),
        from: first,
        parts: now.parts.slice(first),
      });
    });
  }

  private rest(): void {
    const { turns, conversationId, title: named } = this.talk;
    const usage = summed(turns.flatMap(({ text }) => text.usage ?? []));
    const last = turns.at(-1)?.text;
    const used = turns.findLast(({ text }) => text.context)?.text.context;
    const waiting = conversationId ? this.prompts.ofConversation(conversationId) : [];
    this.post({ kind: 'prompts', prompts: waiting.map(shownPrompt) });
    const context = used?.tokens
      ? `${Math.round((100 * used.tokens) / used.window)} % of the context`
      : '';
    const asked = this.prompts.asked(conversationId);
    const { model, mode } = this.choices.shown;
    const before = runningTurn(this.talk)?.mode;
    const state: ShownState = {
      model,
      mode: before === undefined || before === mode ? mode : `${mode} (after this turn)`,
      tours: this.choices.takesTour,
      lacking: this.choices.lacksModel ? LACKING : undefined,
      title: named || (turns[0]?.message.split('\n')[0] ?? 'New conversation'),
      spent: usage ? spent(usage) : '',
      context,
      works: runningTurn(this.talk) !== undefined,
      asks: asked && visible(question(asked.prompt)),
      canResume: last?.outcome === 'interrupted' && !this.talk.runsElsewhere,
    };
    this.post({ kind: 'state', state });
    this.badge();
  }

  private sentOf(turn: Turn) {
    return { turn: JSON.stringify(this.shownTurn(turn)), parts: [...turn.text.parts] };
  }

  private shownTurn({ id, message, text: { outcome, usage, changed, lacksKey } }: Turn): ShownTurn {
    const runsElsewhere = this.talk.runsElsewhere && outcome === 'interrupted';
    const told = outcome && usage && summed([usage]);
    return {
      id,
      message,
      outcome: runsElsewhere ? 'elsewhere' : outcome,
      changed,
      lacksKey,
      spent: told && spent(told),
    };
  }

  private badge(): void {
    if (!this.view) return;
    const value = this.prompts.list.length;
    // Where there is no badge, VS Code may leave the one of before; of nothing it shows none.
    this.view.badge = { value, tooltip: value ? `${counted(value, 'question')} of Aside` : '' };
  }
}

function shownPrompt(prompt: Prompt): ShownPrompt {
  const { promptId, kind, context, preview } = prompt;
  const usual = [prompt.default].flat();
  const diff = preview?.kind === 'diff' ? changesOf(preview.old, preview.new) : undefined;
  return {
    promptId,
    by: asker(prompt),
    question: visible(question(prompt)),
    detail: isChange(prompt)
      ? folderOf(preview)
      : kind === 'question'
        ? visible([context, expected(prompt)].filter(Boolean).join('\n')) || undefined
        : subject(prompt),
    about: kind === 'question' ? undefined : lasting(prompt).join(' '),
    diff: diff && visible(diff.slice(0, DIFF_LINES).concat(rest(diff)).join('\n')),
    isWhole: diff !== undefined && diff.length <= DIFF_LINES,
    isAsked: !prompt.resumable,
    offers: offers(prompt).map(({ label: text, answer }) => ({
      label: text,
      isUsual: answer?.action === 'answer' && usual.includes(answer.answer),
    })),
  };
}

/** The path of a change with its folder of the workspace, where there are several, which the question does not tell. */
function folderOf(preview: Prompt['preview']): string | undefined {
  const isOne = (vscode.workspace.workspaceFolders?.length ?? 0) < 2;
  if (isOne || preview?.kind !== 'diff') return undefined;
  return visible(vscode.workspace.asRelativePath(vscode.Uri.parse(preview.uri)));
}

/** The lines that differ, behind their signs. */
function changesOf(before: string, after: string): string[] {
  const blocks = diffBlocks(linesOf(before), linesOf(after));
  const signed = (sign: string, lines: string[]) =>
    lines.map((it) => `${sign} ${it.replace(/\n$/, '')}`);
  return blocks.flatMap((it, at) => [
    ...(at ? ['…'] : []),
    ...signed('-', it.old),
    ...signed('+', it.new),
  ]);
}

/** Says how many lines are left out. */
function rest({ length }: string[]): string[] {
  const more = length - DIFF_LINES;
  return more > 0 ? [`… ${counted(more, 'line')} more`] : [];
}

/** Puts a text in place of what is selected. */
async function insert(text: string): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (!editor) throw new Error('No editor is active; open the file in which to insert it.');
  await editor.edit((edit) => edit.replace(editor.selection, text));
}

/** Opens a link of an answer: a page of the web, or a file of the workspace, with its line. Nothing else is opened. */
async function open(href: string): Promise<void> {
  if (/^https?:\/\//i.test(href)) {
    await vscode.env.openExternal(vscode.Uri.parse(href));
    return;
  }
  const [, path, line] = /^([^:?#]+?)(?:(?::|#L)(\d+).*)?$/.exec(decodeURI(href)) ?? [];
  if (!path) return;
  for (const { uri } of vscode.workspace.workspaceFolders ?? []) {
    const file = vscode.Uri.joinPath(uri, path);
    const there = await vscode.workspace.fs.stat(file).then(
      () => file.path.startsWith(`${uri.path}/`),
      () => false,
    );
    if (!there) continue;
    const at = Math.max(0, Number(line ?? 1) - 1);
    await vscode.window.showTextDocument(file, { selection: new vscode.Range(at, 0, at, 0) });
    return;
  }
  throw new Error(`${path} is no file of the workspace.`);
}

/** The page: a script and a style of the extension's own, and nothing from anywhere else. */
function page(webview: vscode.Webview, root: vscode.Uri): string {
  const of = (name: string) =>
    webview.asWebviewUri(vscode.Uri.joinPath(root, 'dist', name)).toString();
  const nonce = randomUUID();
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${webview.cspSource}; require-trusted-types-for 'script'; trusted-types 'none'; form-action 'none'; base-uri 'none'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link rel="stylesheet" href="${of('view.css')}">
<title>Aside</title>
</head>
<body>
<main></main>
<script nonce="${nonce}" src="${of('view.js')}"></script>
</body>
</html>`;
}

// Changes of files that wait for a permission: a diff, in which blocks are accepted and rejected one by one.
import * as path from 'node:path';
import * as vscode from 'vscode';
import { collide, compose, diffBlocks, linesOf, moved, type Block } from './blocks';
import { closeTabs, openDocument } from './editorTools';
import { isChange, type Became, type Pending, type Prompts } from './prompts';
import type { Diff, Prompt } from './wire';

const SCHEME = 'aside-change';

/** The tab of several changes; VS Code adds the number of files, and its kind of input has no type in the API. */
const SEVERAL = 'Aside’s changes';
const isSeveral = ({ label }: vscode.Tab): boolean => label.startsWith(SEVERAL);

/** What a lens says of a change that is decided. */
const BECAME: Record<Became, string> = {
  taken: '✓ Accepted',
  refused: '✗ Rejected: the file stays as it is',
  elsewhere: 'Decided elsewhere',
  gone: 'Not asked any more: the file stays as it is',
};

interface Change {
  pending: Pending;
  preview: Diff;
  before: string[];
  blocks: Block[];
  /** Decisions by block; a block without one is open. */
  decided: Map<Block, boolean>;
}

const isOpen = ({ pending }: Change): boolean => pending.became === undefined;

/** Changes of the same text of a file, which are shown as one diff. */
type Sheet = Change[];

/** The changes that a command is about: of a note in a thread, of a block's line, of a side of a diff, or of the active editor. */
export type From = { promptId?: string } | { sheet: string } | vscode.Uri | undefined;

export class Review implements vscode.TextDocumentContentProvider, vscode.CodeLensProvider {
  private readonly changes = new Map<string, Change>();
  private readonly content = new vscode.EventEmitter<vscode.Uri>();
  private readonly lenses = new vscode.EventEmitter<void>();
  readonly onDidChange = this.content.event;
  readonly onDidChangeCodeLenses = this.lenses.event;

  constructor(
    private readonly prompts: Prompts,
    subscriptions: vscode.ExtensionContext['subscriptions'],
  ) {
    prompts.review = this;
    subscriptions.push(
      this.content,
      this.lenses,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.languages.registerCodeLensProvider({ scheme: SCHEME }, this),
      prompts.onDidChange(() => this.forget()),
      vscode.window.tabGroups.onDidChangeTabs(() => {
        const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
        const reviews = tab !== undefined && isSeveral(tab);
        void vscode.commands.executeCommand('setContext', 'aside.reviewsSeveral', reviews);
      }),
    );
  }

  /** One change as a diff, several as one tab. */
  async open(waiting: Prompt[]): Promise<void> {
    const all = sheetsOf(waiting.flatMap(({ promptId }) => this.change(promptId) ?? []));
    const [first] = all;
    if (!first) return;
    // A tab that is only looked at would give way, and be gone with the review.
    if (vscode.window.tabGroups.activeTabGroup.activeTab?.isPreview)
      await vscode.commands.executeCommand('workbench.action.keepEditor');
    const title = `${path.basename(fileOf(first).path)} – Aside’s change`;
    if (all.length === 1)
      return vscode.commands.executeCommand(
        'vscode.diff',
        side(first, 'old'),
        side(first, 'new'),
        title,
        { preview: false },
      );
    const files = all.map((it) => [fileOf(it), side(it, 'old'), side(it, 'new')]);
    // One that is there may show what is decided by now.
    await closeTabs(isSeveral);
    await vscode.commands.executeCommand('vscode.changes', SEVERAL, files);
  }

  /** Takes or refuses all changes that wait. */
  async decideAll(taken: boolean): Promise<void> {
    for (const { prompt } of this.prompts.list.filter(
      (it) => isChange(it.prompt) && !it.prompt.resumable,
    )) {
      if (taken) await this.accept(prompt);
      else this.reject(prompt);
    }
  }

  /** Takes all blocks that were not rejected. */
  async accept(from: From): Promise<void> {
    for (const change of this.find(from)) await this.take(change);
  }

  reject(from: From): void {
    for (const { pending } of this.find(from)) pending.settle({ action: 'answer', answer: 'no' });
  }

  /** Decides one block, the one at the cursor where no number says which; with its last one a change is decided. */
  async decide(taken: boolean, from: From, at?: number): Promise<void> {
    const sheet = this.find(from);
    const line = vscode.window.activeTextEditor?.selection.active.line ?? 0;
    const { starts, blocks } = composed(sheet);
    const here = Math.max(0, starts.findLastIndex((start) => start <= line));
    const [change, block] = at === undefined ? (blocks[here] ?? []) : [sheet[0], sheet[0]?.blocks[at]];
    if (!change || !isOpen(change)) return;
    if (block) change.decided.set(block, taken);
    if (change.decided.size === change.blocks.length) {
      if ([...change.decided.values()].includes(true)) await this.take(change);
      else this.reject(change.pending.prompt);
    }
    this.draw(change);
    this.lenses.fire();
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const sheet = this.shownIn(uri);
    return uri.query.startsWith('old:') ? (sheet[0]?.preview.old ?? '') : composed(sheet).text;
  }

  provideCodeLenses({ uri }: vscode.TextDocument): vscode.CodeLens[] {
    const sheet = this.shownIn(uri);
    if (!sheet.length || uri.query.startsWith('old:')) return [];
    const lens = (line: number, title: string, command = '', ...given: unknown[]) =>
      new vscode.CodeLens(new vscode.Range(line, 0, line, 0), { title, command, arguments: given });
    const { starts, blocks } = composed(sheet);
    const lenses = blocks.flatMap(([change, block], at) => {
      const { decided, pending } = change;
      const { became, prompt } = pending;
      const line = starts[at]!;
      // What has not changed is folded, so only a line of a block is sure to be seen.
      if (became) return block === change.blocks[0] ? [lens(line, BECAME[became])] : [];
      const about = [{ promptId: prompt.promptId }, change.blocks.indexOf(block)];
      const taken = decided.get(block);
      return [
        lens(line, taken ? '✓ Accepted' : 'Accept Block', 'aside.acceptBlock', ...about),
        lens(line, taken === false ? '✗ Rejected' : 'Reject Block', 'aside.rejectBlock', ...about),
      ];
    });
    if (blocks.filter(([change]) => isOpen(change)).length < 2) return lenses;
    const whole = { sheet: uri.query };
    return [
      ...lenses,
      lens(starts[0]!, 'Accept File', 'aside.acceptChange', whole),
      lens(starts[0]!, 'Reject File', 'aside.rejectChange', whole),
    ];
  }

  private async take(change: Change): Promise<void> {
    if (!isOpen(change)) return;
    const { pending, before, blocks, decided } = change;
    const now = this.now(change);
    const there = now === undefined ? blocks : moved(before, linesOf(now), blocks);
    if (!there) return this.sendBack(change);
    const taken = there.filter((_, at) => decided.get(blocks[at]!) !== false);
    // What is taken as a whole, the server puts where its lines are by now.
    const part =
      taken.length === there.length
        ? {}
        : {
            newText: compose(now === undefined ? before : linesOf(now), taken, () => true).text,
            oldText: now,
          };
    pending.settle({ action: 'answer', answer: 'once', ...part });
  }

  private find(from: From): Sheet {
    if (from && 'promptId' in from) return [this.change(from.promptId) ?? []].flat();
    if (from && 'sheet' in from) return this.sheet(from.sheet);
    const active = this.shownIn(vscode.window.activeTextEditor?.document.uri);
    return active.length ? active : this.shownIn(from as vscode.Uri | undefined);
  }

  private shownIn(uri: vscode.Uri | undefined): Sheet {
    return uri?.scheme === SCHEME ? this.sheet(uri.query) : [];
  }

  /** @param query that of a side */
  private sheet(query: string): Sheet {
    return idsOf(query).flatMap((id) => this.change(id) ?? []);
  }

  private change(promptId = ''): Change | undefined {
    const pending = this.prompts.get(promptId);
    const preview = pending?.prompt.preview;
    let change = this.changes.get(promptId);
    if (pending && preview?.kind === 'diff' && change?.pending !== pending) {
      const before = linesOf(preview.old);
      change = {
        pending,
        preview,
        before,
        blocks: diffBlocks(before, linesOf(preview.new)),
        decided: new Map(),
      };
      this.changes.set(promptId, change);
    }
    return change;
  }

  /** Shows what has become of a change, wherever it is shown. */
  private draw({ pending: { prompt } }: Change): void {
    for (const { uri } of vscode.workspace.textDocuments)
      if (uri.scheme === SCHEME && idsOf(uri.query).includes(prompt.promptId)) this.content.fire(uri);
  }

  /** The text of the open file, where it is another one than the change was made for. */
  private now({ preview }: Change): string | undefined {
    const document = openDocument(vscode.Uri.parse(preview.uri));
    if (preview.version === undefined || !document || document.version === preview.version)
      return undefined;
    const now = document.getText();
    return now === preview.old ? undefined : now;
  }

  /** Offers to have a change made anew, whose lines were changed since. */
  private async sendBack({ pending, preview }: Change): Promise<void> {
    const back = 'Send It Back';
    const message = `The same lines of ${path.basename(vscode.Uri.parse(preview.uri).path)} were changed since Aside proposed this; the change is made anew if you send it back.`;
    if ((await vscode.window.showWarningMessage(message, back)) === back) {
      pending.settle({
        action: 'decline',
        note: 'The same lines of the file were changed since. Read it again, and propose the change for what it is now.',
      });
    }
  }

  /** Closes what shows no change that waits. What is decided stays beside those that wait, with what became of it. */
  private forget(): void {
    const all = [...this.changes.values()];
    const decided = all.filter((it) => !isOpen(it));
    const isOver = (sheet: Sheet) => sheet.length > 0 && !sheet.some(isOpen);
    void closeTabs(
      ({ input }) => input instanceof vscode.TabInputTextDiff && isOver(this.shownIn(input.modified)),
    );
    if (decided.length === all.length) {
      void closeTabs(isSeveral);
      this.changes.clear();
    } else {
      for (const change of decided) this.draw(change);
      this.lenses.fire();
    }
  }
}

/** Whether nothing of a change is in the file. */
const isAsBefore = ({ pending: { became } }: Change): boolean =>
  became === 'refused' || became === 'gone';

/** The text of a file with what is taken so far, each block with its change, and the line at which it is. */
function composed(sheet: Sheet) {
  const blocks = sheet
    .flatMap((change) => change.blocks.map((block) => [change, block] as const))
    .sort(([, one], [, other]) => one.at - other.at);
  const isTaken = new Map(
    blocks.map(([change, block]) => [
      block,
      !isAsBefore(change) && change.decided.get(block) !== false,
    ]),
  );
  const { text, at: starts } = compose(
    sheet[0]?.before ?? [],
    blocks.map(([, block]) => block),
    (block) => isTaken.get(block) === true,
  );
  return { text, starts, blocks };
}

/** Changes of one text that touch none of the same lines are one sheet. */
function sheetsOf(changes: Change[]): Sheet[] {
  const sheets: Sheet[] = [];
  for (const change of changes) {
    const { uri, old } = change.preview;
    const fits = (sheet: Sheet) =>
      sheet.every(
        ({ preview, blocks }) =>
          preview.uri === uri &&
          preview.old === old &&
          !blocks.some((one) => change.blocks.some((other) => collide(one, other))),
      );
    const sheet = sheets.find(fits);
    if (sheet) sheet.push(change);
    else sheets.push([change]);
  }
  return sheets;
}

const fileOf = ([first]: Sheet): vscode.Uri => vscode.Uri.parse(first?.preview.uri ?? '');

/** The prompts that a side is about, by its query. */
const idsOf = (query: string): string[] => query.slice('old:'.length).split('+');

/**
 * A side of a diff. Its path is the file's own, so that an editor takes both for the same file. VS Code's own servers for languages
 * leave the query out, and would take one side for the other, so the authority tells them apart, too.
 */
function side(sheet: Sheet, which: 'old' | 'new'): vscode.Uri {
  const ids = sheet.map(({ pending }) => pending.prompt.promptId);
  return vscode.Uri.from({
    scheme: SCHEME,
    authority: `${which}-${ids.join('-')}`,
    path: fileOf(sheet).path,
    query: `${which}:${ids.join('+')}`,
  });
}

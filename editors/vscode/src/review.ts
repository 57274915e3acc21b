// Changes of files that wait for a permission: a diff, in which blocks are accepted and rejected one by one.
import * as path from 'node:path';
import * as vscode from 'vscode';
import { compose, diffBlocks, linesOf, moved, type Block } from './blocks';
import { closeTabs, openDocument, openTabs } from './editorTools';
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

/** The change that a command is about: of a note in a thread, of a block's line, of a side of a diff, or of the active editor. */
export type From = { promptId?: string } | vscode.Uri | undefined;

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
    prompts.review = (waiting) => this.open(waiting);
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
    const all = waiting.flatMap(({ promptId }) => this.change(promptId) ?? []);
    const [first] = all;
    if (!first) return;
    const title = `${path.basename(vscode.Uri.parse(first.preview.uri).path)} – Aside’s change`;
    if (all.length === 1)
      return vscode.commands.executeCommand(
        'vscode.diff',
        side(first, 'old'),
        side(first, 'new'),
        title,
        { preview: false },
      );
    const files = all.map((it) => [
      vscode.Uri.parse(it.preview.uri),
      side(it, 'old'),
      side(it, 'new'),
    ]);
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
    const change = this.find(from);
    if (!change || !isOpen(change)) return;
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

  reject(from: From): void {
    this.find(from)?.pending.settle({ action: 'answer', answer: 'no' });
  }

  /** Decides one block, the one at the cursor where no number says which; with the last one the change is decided. */
  async decide(taken: boolean, from: From, at?: number): Promise<void> {
    const change = this.find(from);
    if (!change || !isOpen(change)) return;
    const line = vscode.window.activeTextEditor?.selection.active.line ?? 0;
    const block =
      change.blocks[
        at ??
          Math.max(
            0,
            this.composed(change).at.findLastIndex((start) => start <= line),
          )
      ];
    if (block) change.decided.set(block, taken);
    if (change.decided.size === change.blocks.length) {
      if ([...change.decided.values()].includes(true)) await this.accept(change.pending.prompt);
      else this.reject(change.pending.prompt);
    }
    this.content.fire(side(change, 'new'));
    this.lenses.fire();
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const change = this.shownIn(uri);
    if (!change) return '';
    const { became } = change.pending;
    return uri.query.startsWith('old:') || became === 'refused' || became === 'gone'
      ? change.preview.old
      : this.composed(change).text;
  }

  provideCodeLenses({ uri }: vscode.TextDocument): vscode.CodeLens[] {
    const change = this.shownIn(uri);
    if (!change || uri.query.startsWith('old:')) return [];
    const { became, prompt } = change.pending;
    const { promptId } = prompt;
    const lens = (line: number, title: string, command = '', ...more: unknown[]) =>
      new vscode.CodeLens(new vscode.Range(line, 0, line, 0), {
        title,
        command,
        arguments: [{ promptId }, ...more],
      });
    const { at: starts } = this.composed(change);
    // What has not changed is folded, so only a line of a block is sure to be seen.
    if (became) {
      const isAsBefore = became === 'refused' || became === 'gone';
      return [lens((isAsBefore ? change.blocks[0]?.at : starts[0]) ?? 0, BECAME[became])];
    }
    const blocks = starts.flatMap((line, at) => {
      const decided = change.decided.get(change.blocks[at]!);
      return [
        lens(line, decided ? '✓ Accepted' : 'Accept Block', 'aside.acceptBlock', at),
        lens(line, decided === false ? '✗ Rejected' : 'Reject Block', 'aside.rejectBlock', at),
      ];
    });
    if (starts.length < 2) return blocks;
    return [
      ...blocks,
      lens(starts[0]!, 'Accept File', 'aside.acceptChange'),
      lens(starts[0]!, 'Reject File', 'aside.rejectChange'),
    ];
  }

  private find(from: From): Change | undefined {
    if (from && 'promptId' in from) return this.change(from.promptId);
    return (
      this.shownIn(vscode.window.activeTextEditor?.document.uri) ??
      this.shownIn(from as vscode.Uri | undefined)
    );
  }

  private shownIn(uri: vscode.Uri | undefined): Change | undefined {
    return uri?.scheme === SCHEME ? this.change(uri.query.slice('old:'.length)) : undefined;
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

  private composed({ before, blocks, decided }: Change) {
    return compose(before, blocks, (block) => decided.get(block) !== false);
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

  /**
   * Closes what shows a change that waits no more. In the tab of several it stays, with what became of it, as long as
   * another one there waits.
   */
  private forget(): void {
    const decided = [...this.changes.values()].filter((it) => !isOpen(it));
    const shown = new Set(decided.map((it) => side(it, 'new').toString()));
    void closeTabs(
      ({ input }) =>
        input instanceof vscode.TabInputTextDiff && shown.has(input.modified.toString()),
    );
    if (decided.length === this.changes.size) void closeTabs(isSeveral);
    const stays = decided.length < this.changes.size && openTabs().some(isSeveral);
    for (const change of decided) {
      if (stays) this.content.fire(side(change, 'new'));
      else this.changes.delete(change.pending.prompt.promptId);
    }
    if (decided.length) this.lenses.fire();
  }
}

/** A side of a change. Its path is the file's own, so that an editor takes both for the same file. */
function side({ pending, preview }: Change, which: 'old' | 'new'): vscode.Uri {
  return vscode.Uri.from({
    scheme: SCHEME,
    path: vscode.Uri.parse(preview.uri).path,
    query: `${which}:${pending.prompt.promptId}`,
  });
}

// Changes of files that wait for a permission: a diff, in which blocks are accepted and rejected one by one.
import * as path from 'node:path';
import * as vscode from 'vscode';
import { compose, diffBlocks, linesOf, type Block } from './blocks';
import { closeTabs, openDocument } from './editorTools';
import type { Pending, Prompts } from './prompts';
import type { Diff, Prompt } from './wire';

const SCHEME = 'aside-change';

interface Change {
  pending: Pending;
  preview: Diff;
  before: string[];
  blocks: Block[];
  /** Decisions by block; a block without one is open. */
  decided: Map<Block, boolean>;
}

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
    await vscode.commands.executeCommand('vscode.changes', `${all.length} changes of Aside`, files);
  }

  /** Takes all blocks that were not rejected. */
  async accept(from: From): Promise<void> {
    const change = this.find(from);
    if (!change || !(await this.isCurrent(change))) return;
    const rejected = [...change.decided.values()].includes(false);
    change.pending.settle({
      action: 'answer',
      answer: 'once',
      newText: rejected ? this.composed(change).text : undefined,
    });
  }

  reject(from: From): void {
    this.find(from)?.pending.settle({ action: 'answer', answer: 'no' });
  }

  /** Decides one block, the one at the cursor where no number says which; with the last one the change is decided. */
  async decide(taken: boolean, from: From, at?: number): Promise<void> {
    const change = this.find(from);
    if (!change) return;
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
    return !change
      ? ''
      : uri.query.startsWith('old:')
        ? change.preview.old
        : this.composed(change).text;
  }

  provideCodeLenses({ uri }: vscode.TextDocument): vscode.CodeLens[] {
    const change = this.shownIn(uri);
    if (!change || uri.query.startsWith('old:')) return [];
    return this.composed(change).at.flatMap((line, at) => {
      const args = [{ promptId: change.pending.prompt.promptId }, at];
      const lens = (title: string, command: string) =>
        new vscode.CodeLens(new vscode.Range(line, 0, line, 0), {
          title,
          command,
          arguments: args,
        });
      const decided = change.decided.get(change.blocks[at]!);
      return [
        lens(decided ? '✓ Accepted' : 'Accept Block', 'aside.acceptBlock'),
        lens(decided === false ? '✗ Rejected' : 'Reject Block', 'aside.rejectBlock'),
      ];
    });
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
    if (preview?.kind !== 'diff') return undefined;
    let change = this.changes.get(promptId);
    if (change?.pending !== pending) {
      const before = linesOf(preview.old);
      change = {
        pending: pending!,
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

  /** Whether the file is still what the change was made for. */
  private async isCurrent({ pending, preview }: Change): Promise<boolean> {
    const document = openDocument(vscode.Uri.parse(preview.uri));
    if (preview.version === undefined || !document || document.version === preview.version)
      return true;
    const back = 'Send It Back';
    const message = `${path.basename(document.fileName)} was changed since Aside proposed this; the change is made anew if you send it back.`;
    if ((await vscode.window.showWarningMessage(message, back)) === back) {
      pending.settle({
        action: 'decline',
        note: 'The file was changed since. Read it again, and propose the change for what it is now.',
      });
    }
    return false;
  }

  /** Closes what shows a change that waits no more. */
  private forget(): void {
    for (const [promptId, change] of this.changes) {
      if (this.prompts.get(promptId) === change.pending) continue;
      this.changes.delete(promptId);
      const shown = side(change, 'new').toString();
      closeTabs(
        ({ input }) =>
          input instanceof vscode.TabInputTextDiff && input.modified.toString() === shown,
      );
    }
    // A tab of several changes; its kind of input has no type in the API.
    if (this.changes.size === 0) closeTabs(({ label }) => /^\d+ changes of Aside\b/.test(label));
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

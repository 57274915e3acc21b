// Keeps the end of a thread in view while its answer grows, for a person who wrote there and did nothing else since.
import * as vscode from 'vscode';

/**
 * Milliseconds after which a change of a thread is on the screen, and after which it is on that of a busy computer. A thread that
 * grows moves lines, which VS Code tells, but not where it fills the editor alone.
 */
const SHOWN_MS = [200, 1_000, 2_500];

export class Follow {
  private on?: vscode.CommentThread;
  /** The first line in view. */
  private top = 0;
  private timers: NodeJS.Timeout[] = [];

  /** @param attends whether the person still is where he wrote */
  constructor(
    private readonly attends: () => boolean,
    subscriptions: vscode.ExtensionContext['subscriptions'],
  ) {
    subscriptions.push(
      vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor, visibleRanges }) => {
        const [first, last] = [visibleRanges[0]?.start, visibleRanges.at(-1)?.end];
        if (!this.on?.range || !first || !last || textEditor !== this.editor()) return;
        // Where only the thread can be seen, the first line is the one below it, and a thread that shrinks moves none of those above.
        const below = this.on.range.end.line + 1;
        const top = Math.min(first.line, below);
        // Whoever scrolls up until the end is out of view reads there.
        if (top < this.top && last.line < below) this.on = undefined;
        this.top = top;
        this.keep();
      }),
      { dispose: () => this.timers.forEach(clearTimeout) },
    );
  }

  begin(on: vscode.CommentThread): void {
    this.on = on;
    this.top = 0;
    this.keep();
  }

  /** A thread is another object from now on. */
  moved(before: vscode.CommentThread, on: vscode.CommentThread): void {
    if (this.on === before) this.on = on;
  }

  /** What a thread shows has changed. */
  changed(on: vscode.CommentThread): void {
    if (on !== this.on) return;
    // Of the late ones, those of the last change are enough.
    this.timers.slice(1).forEach(clearTimeout);
    this.timers = SHOWN_MS.map((after) => setTimeout(() => this.keep(), after));
  }

  /** Shows the line below the thread: all above it is in view then, or what came last. */
  private keep(): void {
    const [editor, range] = [this.editor(), this.on?.range];
    if (!editor || !range || !this.attends()) return;
    const below = range.end.line + 1;
    if (below < editor.document.lineCount)
      editor.revealRange(new vscode.Range(below, 0, below, 0), vscode.TextEditorRevealType.Default);
    // Nothing is below the last line that could be shown.
    else editor.revealRange(range, vscode.TextEditorRevealType.AtTop);
  }

  private editor(): vscode.TextEditor | undefined {
    const uri = this.on?.uri.toString();
    return vscode.window.visibleTextEditors.find((it) => it.document.uri.toString() === uri);
  }
}

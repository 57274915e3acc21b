// Keeps the end of a thread in view while its answer grows, for a person who wrote there and did nothing else since.
import * as vscode from 'vscode';

export class Follow {
  private on?: vscode.CommentThread;
  /** The first line in view; whoever scrolls up reads there. */
  private top = 0;

  /** @param attends whether the person still is where he wrote */
  constructor(
    private readonly attends: () => boolean,
    subscriptions: vscode.ExtensionContext['subscriptions'],
  ) {
    subscriptions.push(
      vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor, visibleRanges }) => {
        if (!this.on || textEditor !== this.editor()) return;
        const top = visibleRanges[0]?.start.line ?? this.top;
        if (top < this.top) this.on = undefined;
        this.top = top;
        this.keep();
      }),
    );
  }

  begin(on: vscode.CommentThread): void {
    this.on = on;
    this.top = 0;
    this.keep();
  }

  /** Shows the line below the thread: all above it is in view then, or what came last. */
  keep(on = this.on): void {
    const editor = this.editor();
    const range = on?.range;
    if (!editor || !range || on !== this.on || !this.attends()) return;
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

// Whether the person attends to Aside: only then may a question come up by itself.
import * as vscode from 'vscode';

export class Presence implements vscode.Disposable {
  private inThread = false;
  private readonly subscriptions: vscode.Disposable[];

  constructor() {
    const leave = () => (this.inThread = false);
    this.subscriptions = [
      vscode.window.onDidChangeTextEditorSelection(leave),
      vscode.window.onDidChangeActiveTextEditor(leave),
      vscode.window.onDidChangeActiveTerminal(leave),
      vscode.window.onDidChangeWindowState(leave),
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        // A reply box that is emptied was sent; one with a text is being typed in.
        if (contentChanges.length && document.getText() !== '') leave();
      }),
    ];
  }

  get isInThread(): boolean {
    return this.inThread;
  }

  /** He replied in a thread, or answered a prompt, and did nothing else since. */
  enter(): void {
    this.inThread = true;
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}

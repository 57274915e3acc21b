// The item of the status bar, while Aside works or waits; and its health, where the language's is shown.
import * as vscode from 'vscode';
import type { Prompts } from './prompts';
import type { Server } from './server';
import { counted, visible } from './text';
import type { Threads } from './threads';

const { Information: ok, Warning: warning, Error: error } = vscode.LanguageStatusSeverity;
const SEVERITY = { ok, warning, error };

export class StatusBar {
  private readonly item = vscode.window.createStatusBarItem(
    'aside.status',
    vscode.StatusBarAlignment.Left,
  );

  constructor(
    server: Server,
    private readonly prompts: Prompts,
    private readonly threads: Threads,
    subscriptions: vscode.ExtensionContext['subscriptions'],
  ) {
    this.item.name = 'Aside';
    const health = vscode.languages.createLanguageStatusItem('aside.health', [
      { scheme: 'file' },
      { scheme: 'untitled' },
    ]);
    Object.assign(health, {
      name: 'Aside',
      text: 'Aside',
      command: { command: 'aside.showLogs', title: 'Show Logs' },
    });
    server.onNotification('aside/status', (status) => {
      health.severity = SEVERITY[status.health];
      health.text = `Aside: ${status.model ?? 'no model'}`;
      health.detail = status.message ?? '';
    });
    subscriptions.push(
      this.item,
      health,
      prompts.onDidChange(() => this.paint()),
      threads.onDidChange(() => this.paint()),
    );
  }

  /** The text of the item; undefined while it is hidden. */
  get text(): string | undefined {
    const { busy, tools } = this.threads.work;
    if (this.prompts.list.length)
      return `$(question) Aside: ${counted(this.prompts.list.length, 'question')}`;
    return busy ? `$(loading~spin) Aside: ${tools.at(-1)?.slice(0, 40) ?? 'works'}` : undefined;
  }

  private paint(): void {
    if (this.text === undefined) return this.item.hide();
    this.item.text = this.text;
    this.item.command = this.prompts.list.length ? 'aside.answerQuestion' : 'aside.revealThread';
    const waiting = this.prompts.list.map(({ prompt }) =>
      visible(`${prompt.label}: ${prompt.text}`),
    );
    this.item.tooltip = [...waiting, ...this.threads.work.tools].join('\n') || 'Aside works';
    this.item.show();
  }
}

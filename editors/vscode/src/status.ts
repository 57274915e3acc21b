// The item of the status bar, while Aside works or waits; and its health, where the language's is shown.
import * as vscode from 'vscode';

import type { Prompts } from './prompts';
import type { Server } from './server';
import { counted, visible } from './text';
import type { Threads } from './threads';

const SEVERITY = {
  ok: vscode.LanguageStatusSeverity.Information,
  warning: vscode.LanguageStatusSeverity.Warning,
  error: vscode.LanguageStatusSeverity.Error,
};

export class StatusBar {
  private readonly item = vscode.window.createStatusBarItem('aside.status', vscode.StatusBarAlignment.Left);
  private readonly health = vscode.languages.createLanguageStatusItem('aside.health', [{ scheme: 'file' }, { scheme: 'untitled' }]);

  constructor(server: Server, private readonly prompts: Prompts, private readonly threads: Threads, subscriptions: vscode.ExtensionContext['subscriptions']) {
    this.item.name = 'Aside';
    this.health.name = 'Aside';
    this.health.text = 'Aside';
    this.health.command = { command: 'aside.showLogs', title: 'Show Logs' };
    server.onNotification('aside/status', ({ health, message, model }) => {
      this.health.severity = SEVERITY[health];
      this.health.text = `Aside: ${model ?? 'no model'}`;
      this.health.detail = message ?? '';
    });
    subscriptions.push(this.item, this.health, prompts.onDidChange(() => this.paint()), threads.onDidChange(() => this.paint()));
  }

  /** What the item says; nothing while it is hidden. */
  get text(): string | undefined {
    const waiting = this.prompts.list().length;
    const { busy, tools } = this.threads.work;
    if (waiting) return `$(question) Aside: ${counted(waiting, 'question')}`;
    return busy ? `$(loading~spin) Aside: ${tools.at(-1)?.slice(0, 40) ?? 'works'}` : undefined;
  }

  private paint(): void {
    const text = this.text;
    if (text === undefined) return this.item.hide();
    const waiting = this.prompts.list();
    this.item.text = text;
    this.item.command = waiting.length ? 'aside.answerQuestion' : 'aside.revealThread';
    const lines = waiting.map(({ prompt }) => visible(`${prompt.label}: ${prompt.text}`));
    this.item.tooltip = [...lines, ...this.threads.work.tools].join('\n') || 'Aside works';
    this.item.show();
  }
}

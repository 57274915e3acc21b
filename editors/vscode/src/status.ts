// The item of the status bar, while Aside works or waits; and its health, where the language's is shown.
import * as vscode from 'vscode';
import type { Choices } from './pickers';
import type { Prompts } from './prompts';
import type { Server } from './server';
import { counted, visible } from './text';
import { runningTurn, type Talks } from './talks';
import { OUTCOMES } from './turnText';
import { asker } from './widgets';
import type { Outcome } from './wire';

const { Information: ok, Warning: warning, Error: error } = vscode.LanguageStatusSeverity;
const SEVERITY = { ok, warning, error };

/** Characters of the title of a call. */
const BRIEF = 40;
/** Milliseconds for which the end of all work is told to a person who is elsewhere. */
const TOLD_MS = 6_000;

/** Signs of a turn that ended while the person was elsewhere. */
const SIGNS: Record<Outcome, string> = {
  completed: 'check',
  cancelled: 'circle-slash',
  failed: 'error',
  interrupted: 'debug-pause',
};

export class StatusBar {
  private wasBusy = false;
  /** Runs while the end is told. */
  private ended?: NodeJS.Timeout;
  private readonly item = vscode.window.createStatusBarItem(
    'aside.status',
    vscode.StatusBarAlignment.Left,
  );

  constructor(
    server: Server,
    private readonly prompts: Prompts,
    private readonly talks: Talks,
    choices: Choices,
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
      command: { command: 'aside.pickModel', title: 'Pick Model' },
    });
    server.onNotification('aside/status', (status) => {
      health.severity = SEVERITY[status.health];
      choices.serverTakes(status.model, status.health !== 'error');
      health.detail = status.message ?? '';
    });
    const told = () => {
      const { model, mode } = choices.shown;
      health.text = `Aside: ${model} · ${mode}`;
    };
    told();
    subscriptions.push(
      choices.onDidChange(told),
      this.item,
      health,
      prompts.onDidChange(() => this.paint()),
      talks.onDidChange(() => this.paint()),
    );
  }

  /** The text of the item; undefined while it is hidden. */
  get text(): string | undefined {
    const { busy, tools } = this.work;
    if (this.prompts.list.length)
      return `$(question) Aside: ${counted(this.prompts.list.length, 'question')}`;
    return busy ? `$(loading~spin) Aside: ${brief(tools.at(-1) ?? 'works')}` : undefined;
  }

  /** The titles of what runs, and whether anything does. */
  private get work(): { busy: boolean; tools: string[] } {
    const turns = this.talks.list.flatMap((talk) => runningTurn(talk)?.text ?? []);
    return { busy: turns.length > 0, tools: turns.flatMap((turn) => turn.running) };
  }

  private paint(): void {
    this.tellEnd();
    const outcome = this.talks.latest?.turns.at(-1)?.text.outcome ?? 'completed';
    const end = `$(${SIGNS[outcome]}) Aside: ${OUTCOMES[outcome]}`;
    const text = this.text ?? (this.ended && end);
    if (text === undefined) return this.item.hide();
    this.item.text = text;
    this.item.command = this.prompts.list.length ? 'aside.answerQuestion' : 'aside.revealWork';
    const waiting = this.prompts.list.map(
      ({ prompt }) => `${asker(prompt)}: ${visible(prompt.text)}`,
    );
    this.item.tooltip = [...waiting, ...this.work.tools].join('\n') || 'Show it';
    this.item.show();
  }

  private tellEnd(): void {
    const { busy } = this.work;
    const hasEnded = this.wasBusy && !busy && !this.prompts.attends;
    this.wasBusy = busy;
    if (busy || hasEnded) clearTimeout(this.ended);
    if (busy) this.ended = undefined;
    if (!hasEnded) return;
    this.ended = setTimeout(() => {
      this.ended = undefined;
      this.paint();
    }, TOLD_MS);
  }
}

/** The title of a call in a few characters, in which nothing of a command is an icon. */
function brief(title: string): string {
  const line = visible(title).replace(/`/g, '').replace(/\s+/g, ' ');
  const cut = line.length > BRIEF ? `${line.slice(0, BRIEF - 1)}…` : line;
  return cut.replace(/\$\(/g, '$ (');
}

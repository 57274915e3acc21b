// The model and the mode of what is asked next. What is picked holds in this workspace; else the settings do.
import * as vscode from 'vscode';
import type { Server } from './server';
import { MODES, type Mode } from './wire';

const TOUR = {
  label: 'The tour',
  description: 'no model',
  detail: 'A script answers, asks a question and writes a file: for a first try',
};
const BY_SETTINGS = 'By the settings';
const ENTER_KEY = { label: '$(key) Enter a Key…', detail: 'For models of another provider' };
const [MODEL, MODE] = ['aside.model', 'aside.mode'];
/** The model that was picked before the tour. */
const BEFORE = 'aside.modelBefore';
/** The conversations in which the tour answers. */
const TOURED = 'aside.toured';

export class Choices {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  /** The model that the server takes without a choice. */
  private usual?: string;
  private lacksUsual = false;

  constructor(
    private readonly server: Server,
    private readonly context: vscode.ExtensionContext,
  ) {
    context.subscriptions.push(this.changed);
  }

  /** What goes along with each turn. */
  get options(): { model?: string; mode?: Mode } {
    const { workspaceState } = this.context;
    return { model: workspaceState.get(MODEL), mode: workspaceState.get(MODE) };
  }

  /** What is on, in words. */
  get shown(): { model: string; mode: string } {
    const { model, mode } = this.options;
    const set = vscode.workspace.getConfiguration('aside').get<Mode>('conversation.mode');
    const name = model === this.tour ? TOUR.label : (model ?? this.usual);
    return { model: name ?? 'none', mode: mode ?? set ?? MODES[0] };
  }

  /** Whether nobody can be asked: no model was picked, and the server has none. */
  get lacksModel(): boolean {
    return this.lacksUsual && this.options.model === undefined;
  }

  /** Whether the script of the tour answers. */
  get takesTour(): boolean {
    return this.options.model === this.tour;
  }

  /** The server tells which model it takes, and whether it can work. */
  serverTakes(model: string | undefined, works: boolean): void {
    this.usual = model;
    this.lacksUsual = !works && model === undefined;
    this.changed.fire();
  }

  /** Leads to what is picked: the model or the mode. */
  async pick(): Promise<void> {
    const { model, mode } = this.shown;
    const ways = [
      { label: `Model: ${model}`, run: () => this.pickModel() },
      { label: `Mode: ${mode}`, run: () => this.pickMode() },
    ];
    const chosen = await vscode.window.showQuickPick(ways, { title: 'In This Workspace' });
    await chosen?.run();
  }

  /** Whether one was picked. */
  async pickModel(): Promise<boolean> {
    const now = this.shown.model;
    const items = this.server.request('aside/model/list', {}).then(({ models }) => [
      ...models
        .map(({ id, contextWindow, prices }) => ({
          label: id,
          description: [...(id === now ? ['now'] : []), size(contextWindow)].join(' · '),
          detail: prices ? `$${prices.input} in, $${prices.output} out, for a million tokens` : '',
        }))
        .sort((a, b) => Number(b.label === now) - Number(a.label === now)),
      ENTER_KEY,
      TOUR,
      { label: BY_SETTINGS, description: this.usual, detail: 'The model of the settings' },
    ]);
    const chosen = await vscode.window.showQuickPick(items, {
      title: 'Model in This Workspace',
      matchOnDetail: true,
    });
    if (!chosen) return false;
    if (chosen === ENTER_KEY) await vscode.commands.executeCommand('aside.enterKey');
    else if (chosen === TOUR) await this.takeTour();
    else await this.keep(MODEL, chosen.label === BY_SETTINGS ? undefined : chosen.label);
    return true;
  }

  /** The script of the tour answers from now on, until it ends. */
  async takeTour(): Promise<void> {
    await this.prepareTour();
    const { model } = this.options;
    if (!this.takesTour) await this.context.workspaceState.update(BEFORE, model);
    await this.keep(MODEL, this.tour);
  }

  /** The modes are those of the setting, which has the server's words for them. */
  async pickMode(): Promise<void> {
    const { enum: modes = [], markdownEnumDescriptions: details = [] } =
      this.server.properties['aside.conversation.mode'] ?? {};
    const now = this.shown.mode;
    const items: vscode.QuickPickItem[] = modes.map((label, at) => ({
      label,
      description: label === now ? 'now' : '',
      detail: details[at],
    }));
    items.push({ label: BY_SETTINGS, detail: 'The mode of the settings' });
    const chosen = await vscode.window.showQuickPick(items, {
      title: 'What Runs without Asking in This Workspace',
    });
    if (chosen) await this.keep(MODE, chosen.label === BY_SETTINGS ? undefined : chosen.label);
  }

  /** Notes a conversation that was begun, or gone on with, in the tour. */
  async tours(conversationId: string): Promise<void> {
    await this.context.workspaceState.update(TOURED, [...this.toured, conversationId]);
  }

  /** The tour is over with a turn of a conversation of its own; the model is what it was. */
  async endTour(conversationId: string): Promise<void> {
    if (!this.takesTour || !this.toured.includes(conversationId)) return;
    const { workspaceState } = this.context;
    await workspaceState.update(TOURED, undefined);
    await this.keep(MODEL, workspaceState.get(BEFORE));
  }

  private get toured(): string[] {
    return this.context.workspaceState.get(TOURED, []);
  }

  private async keep(key: string, value: string | undefined): Promise<void> {
    await this.context.workspaceState.update(key, value);
    this.changed.fire();
  }

  /** The choice outlives this version of the extension, so the script has a place of its own. */
  private get script(): vscode.Uri {
    return vscode.Uri.joinPath(this.context.globalStorageUri, 'tour.toml');
  }

  private get tour(): string {
    return `rehearsal/${this.script.fsPath}`;
  }

  private async prepareTour(): Promise<void> {
    const given = vscode.Uri.joinPath(this.context.extensionUri, 'media/walkthrough/tour.toml');
    await vscode.workspace.fs.copy(given, this.script, { overwrite: true });
  }
}

/** The tokens that a model takes, in a few characters. */
const size = (tokens: number | undefined): string =>
  tokens === undefined
    ? ''
    : tokens >= 1_000_000
      ? `${tokens / 1_000_000}M tokens`
      : `${Math.round(tokens / 1000)}k tokens`;

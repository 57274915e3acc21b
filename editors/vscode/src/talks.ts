// The conversations that are shown somewhere, each once: as read from the server, and with what it says since.
import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import { LACKING, lacksModel, type Keys } from './keys';
import type { Choices } from './pickers';
import type { Server } from './server';
import { escaped, sentence, worded } from './text';
import { TurnText } from './turnText';
import type { Attachment } from './wire';

export interface Turn {
  readonly id: string;
  readonly message: string;
  readonly text: TurnText;
  /** Whether the server did not begin it, and has nothing of it. */
  isLocal?: boolean;
  /** The mode in which it was started here. */
  readonly mode?: string;
}

export interface Talk {
  /** Known as soon as the server has it. */
  conversationId?: string;
  /** That of the list, as soon as it is known. */
  title?: string;
  turns: Turn[];
  /** Whether its last turn runs in another window. */
  runsElsewhere?: boolean;
}

const newTurn = (id: string, message: string, mode?: string): Turn => ({
  id,
  message,
  text: new TurnText(),
  mode,
});

/** The turn of a conversation that runs. */
export const runningTurn = ({ turns }: Talk): Turn | undefined => {
  const last = turns.at(-1);
  return last?.text.outcome === undefined ? last : undefined;
};

/** Conversations, the newest, that are looked at when the window is turned to. */
const REFRESHED = 200;

export class Talks {
  private readonly all = new Set<Talk>();
  private readonly loading = new Map<string, Promise<Talk>>();
  private last?: Talk;
  /** Asks the same as a turn of this window, by its id. */
  private readonly again = new Map<string, () => Promise<void>>();
  private readonly changed = new vscode.EventEmitter<Talk>();
  readonly onDidChange = this.changed.event;

  constructor(
    private readonly server: Server,
    private readonly choices: Choices,
    private readonly keys: Keys,
    subscriptions: vscode.ExtensionContext['subscriptions'],
  ) {
    server.onNotification('aside/turn/update', ({ conversationId, turnId, update }) =>
      this.tell(conversationId, turnId, (text, talk) => {
        text.apply(update);
        if (update.kind === 'title') talk.title = update.title;
      }),
    );
    server.onNotification('aside/turn/completed', (completed) =>
      this.tell(completed.conversationId, completed.turnId, (text) => {
        text.complete(completed);
        if (completed.outcome === 'completed') void choices.endTour(completed.conversationId);
        if (text.lacksKey && completed.error && this.again.has(completed.turnId))
          void this.goOn(completed.turnId, keys.mend(completed.error.message));
      }),
    );
    subscriptions.push(
      this.changed,
      vscode.window.onDidChangeWindowState(({ focused }) => {
        // What fails here fails again where the person does something with it, and is told there.
        if (focused) void this.refresh().catch(() => undefined);
      }),
      server.onDidChangeRunning((running) => !running && this.interrupt()),
    );
  }

  /** The conversation that runs, or that said something last. */
  get latest(): Talk | undefined {
    return this.list.find((it) => runningTurn(it)) ?? this.last;
  }

  get list(): Talk[] {
    return [...this.all];
  }

  create(): Talk {
    const talk: Talk = { turns: [] };
    this.all.add(talk);
    return talk;
  }

  /** A conversation of the server; what is shown of it already is the same. */
  get(conversationId: string): Promise<Talk> {
    const there = this.find(conversationId);
    if (there) return Promise.resolve(there);
    return this.loading.get(conversationId) ?? this.load(conversationId);
  }

  /** Reads anew what another window went on with. One that runs here is as it is. */
  async refresh(): Promise<void> {
    const known = this.list.filter((it) => it.conversationId !== undefined && !runningTurn(it));
    if (!known.length || !this.server.isRunning) return;
    const { items } = await this.server.request('aside/conversation/list', { limit: REFRESHED });
    for (const talk of known) {
      const item = items.find((it) => it.conversationId === talk.conversationId);
      if (item) this.name(item.conversationId, item.title);
      const count = talk.turns.filter(({ isLocal }) => !isLocal).length;
      const last = talk.turns.at(-1);
      const waits = last?.text.outcome === 'interrupted';
      const isSame =
        item?.turns === count && !talk.runsElsewhere && waits === (item.status === 'interrupted');
      if (!item || isSame || runningTurn(talk)) continue;
      Object.assign(talk, await this.readTurns(item.conversationId));
      // What was just written here and not taken stays, to be sent again.
      if (last?.isLocal) talk.turns.push(last);
      this.changed.fire(talk);
    }
  }

  find(conversationId: string): Talk | undefined {
    return this.list.find((it) => it.conversationId === conversationId);
  }

  /** Begins a turn, which is shown at once. */
  async start(
    talk: Talk,
    message: string,
    attach: () => Promise<Attachment[]>,
    root?: vscode.Uri,
  ): Promise<void> {
    const turn = newTurn(randomUUID(), message, this.choices.shown.mode);
    const { takesTour } = this.choices;
    this.again.set(turn.id, () => this.start(talk, message, attach, root));
    talk.turns.push(turn);
    this.all.add(talk);
    this.last = talk;
    this.changed.fire(talk);
    try {
      const started = await this.server.request('aside/turn/start', {
        conversationId: talk.conversationId,
        turnId: turn.id,
        ...this.choices.options,
        message,
        attachments: await attach(),
        root: root?.toString(),
      });
      talk.conversationId = started.conversationId;
      if (takesTour) await this.choices.tours(started.conversationId);
    } catch (error) {
      const lacks = lacksModel(error);
      const why = lacks && this.choices.lacksModel ? LACKING : sentence(error);
      turn.text.note(`**${worded(why[0]!.toUpperCase() + why.slice(1))}**`);
      turn.text.outcome = 'failed';
      turn.isLocal = true;
      turn.text.lacksKey = lacks;
      if (lacks) void this.goOn(turn.id, this.keys.lead(why));
    }
    this.changed.fire(talk);
  }

  /** Adds a message to the turn that runs; whether one runs. */
  async steer(talk: Talk, message: string): Promise<boolean> {
    const turn = runningTurn(talk);
    if (!turn) return false;
    return this.server.request('aside/turn/steer', { turnId: turn.id, message }).then(
      () => true,
      () => false,
    );
  }

  async cancel(talk: Talk): Promise<void> {
    const turn = runningTurn(talk);
    if (turn) await this.server.request('aside/turn/cancel', { turnId: turn.id });
  }

  async resume(talk: Talk): Promise<void> {
    const { conversationId } = talk;
    if (conversationId) await this.server.request('aside/turn/resume', { conversationId });
  }

  /** Takes back what a turn changed, the last one unless another is named. */
  async undo(talk: Talk, turn = talk.turns.at(-1)): Promise<void> {
    if (!turn) return;
    const { files, untracked } = await this.server.request('aside/turn/undo', { turnId: turn.id });
    turn.text.changed = false;
    const names = files.map((uri) => vscode.workspace.asRelativePath(vscode.Uri.parse(uri)));
    turn.text.note(
      `Undone: ${escaped(names.join(', ') || 'nothing')}.${untracked ? ' A command ran whose changes are not known.' : ''}`,
    );
    this.changed.fire(talk);
  }

  /** The same conversation without a turn and those after it; an empty one where that is the first. */
  async before({ conversationId, turns }: Talk, turnId: string): Promise<Talk> {
    const last = turns[turns.findIndex(({ id }) => id === turnId) - 1];
    if (!last || conversationId === undefined) return this.create();
    const forked = await this.server.request('aside/conversation/fork', {
      conversationId,
      turnId: last.id,
    });
    return this.get(forked.conversationId);
  }

  /** Notes the title that a conversation has in the list. */
  name(conversationId: string, title: string): void {
    const talk = this.find(conversationId);
    if (!talk || talk.title === title) return;
    talk.title = title;
    this.changed.fire(talk);
  }

  forget(conversationId: string): void {
    for (const talk of this.all) if (talk.conversationId === conversationId) this.all.delete(talk);
  }

  /** Asks the same as a turn again, once a model can be asked. */
  private async goOn(turnId: string, isMended: Promise<boolean>): Promise<void> {
    if (await isMended) await this.again.get(turnId)?.();
  }

  private load(conversationId: string): Promise<Talk> {
    const reading = this.read(conversationId).finally(() => this.loading.delete(conversationId));
    this.loading.set(conversationId, reading);
    return reading;
  }

  private async read(conversationId: string): Promise<Talk> {
    const talk: Talk = { conversationId, ...(await this.readTurns(conversationId)) };
    this.all.add(talk);
    this.changed.fire(talk);
    return talk;
  }

  private async readTurns(conversationId: string): Promise<Omit<Talk, 'conversationId'>> {
    const turns: Turn[] = [];
    let after: string | undefined;
    do {
      const page = await this.server.request('aside/conversation/read', { conversationId, after });
      for (const { turnId, message, updates, outcome, error } of page.turns) {
        const turn = newTurn(turnId, message);
        for (const update of updates) turn.text.apply(update);
        turn.text.fail(error);
        // One that runs in no server can be resumed.
        turn.text.outcome = outcome ?? 'interrupted';
        turns.push(turn);
      }
      after = page.next;
    } while (after !== undefined);
    const isOpen = turns.at(-1)?.text.outcome === 'interrupted';
    return { turns, runsElsewhere: isOpen && (await this.isElsewhere(conversationId)) };
  }

  private async isElsewhere(conversationId: string): Promise<boolean> {
    const { items } = await this.server.request('aside/conversation/list', { limit: REFRESHED });
    const status = items.find((it) => it.conversationId === conversationId)?.status;
    return status === 'running' || status === 'waiting';
  }

  private tell(
    conversationId: string,
    turnId: string,
    apply: (text: TurnText, talk: Talk) => void,
  ): void {
    const talk =
      this.find(conversationId) ?? this.list.find(({ turns }) => turns.at(-1)?.id === turnId);
    if (!talk) return;
    talk.conversationId = conversationId;
    let turn = talk.turns.find(({ id }) => id === turnId);
    if (!turn) talk.turns.push((turn = newTurn(turnId, '')));
    if (turn.text.outcome === 'interrupted') turn.text.resume();
    talk.runsElsewhere = false;
    apply(turn.text, talk);
    this.last = talk;
    this.changed.fire(talk);
  }

  private interrupt(): void {
    for (const talk of this.all) {
      const turn = runningTurn(talk);
      if (!turn) continue;
      turn.text.outcome = 'interrupted';
      turn.text.note('*The server ended here.*', false);
      this.changed.fire(talk);
    }
  }
}

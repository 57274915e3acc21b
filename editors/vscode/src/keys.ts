// Keys of providers: typed once into a password box, kept in VS Code's secret storage, and handed to the server by a request.
import * as vscode from 'vscode';
import { ResponseError } from 'vscode-languageclient/node';
import { entered, keptWith, toHand, type Entered } from './entered';
import type { Choices } from './pickers';
import type { Server } from './server';

/** The secret that holds all keys, by provider. */
const SECRET = 'aside.keys';
/** Milliseconds in which the secret storage answers, if it does so at all; no request waits for longer. */
const OPENED_MS = 5_000;
/** The code of a request for which there is no model or no key. */
const NO_PROVIDER = -32016;
/** What to do where there is no model at all. */
export const LACKING =
  'There is no model yet. Enter the key of a provider, run Ollama on this computer, or take the tour, which needs neither.';
const OLLAMA = 'https://ollama.com/download';

/** Whether a turn did not begin because there is no model or no key. */
export const lacksModel = (error: unknown): boolean =>
  error instanceof ResponseError && error.code === NO_PROVIDER;

export class Keys {
  /** Providers whose keys the server has from here. */
  private has: string[] = [];

  constructor(
    private readonly server: Server,
    private readonly choices: Choices,
    private readonly secrets: vscode.SecretStorage,
    subscriptions: vscode.ExtensionContext['subscriptions'],
  ) {
    server.prepare = () => this.hand();
    // Another window has entered one, or forgotten one.
    subscriptions.push(
      secrets.onDidChange(({ key }) => key === SECRET && server.isRunning && void this.hand()),
    );
  }

  /** Asks for a provider and its key; whether one was entered. */
  async enter(): Promise<boolean> {
    const known = entered(await this.secrets.get(SECRET));
    const listed = await this.server.request('aside/key/list', {});
    const providers = listed.providers.map(({ provider, from }) => ({
      label: provider,
      description: from === undefined ? '' : `has a key from ${from}`,
      isToForget: false,
      provider,
    }));
    const forgotten = Object.keys(known).map((provider) => ({
      label: `$(trash) Forget the key of ${provider}`,
      description: '',
      isToForget: true,
      provider,
    }));
    const chosen = await vscode.window.showQuickPick([...providers, ...forgotten], {
      title: 'The Provider of the Key',
      ignoreFocusOut: true,
    });
    if (!chosen) return false;
    const { provider, isToForget } = chosen;
    const key = isToForget ? undefined : await typed(provider);
    if (!isToForget && !key) return false;
    // The server refuses what cannot be a key; that is not kept.
    await this.server.request('aside/key/set', { provider, key });
    // Another window may have kept one meanwhile.
    await this.secrets.store(SECRET, keptWith(await this.secrets.get(SECRET), provider, key));
    return !isToForget;
  }

  /** Tells that no model can be asked, and leads to one; whether it is worth asking again. */
  lead(why: string): Promise<boolean> {
    return offer(why, {
      'Enter a Key…': () => this.enter(),
      'Take the Tour': () => this.choices.takeTour().then(() => true),
      'Get Ollama': () => this.getOllama().then(() => false),
    });
  }

  /** Tells that a provider did not let the model be asked; whether it is worth asking again. */
  mend(why: string): Promise<boolean> {
    return offer(why, {
      'Enter Another Key…': () => this.enter(),
      'Pick Another Model…': () => this.choices.pickModel(),
    });
  }

  async getOllama(): Promise<void> {
    await vscode.env.openExternal(vscode.Uri.parse(OLLAMA));
  }

  /** Hands all keys to the server, which keeps them in memory only, and lets it forget those that are gone. */
  private async hand(): Promise<void> {
    let late: NodeJS.Timeout | undefined;
    const none = new Promise<undefined>((resolve) => {
      late = setTimeout(resolve, OPENED_MS, undefined);
    });
    const read = Promise.resolve(this.secrets.get(SECRET)).then(entered);
    const now: Entered | undefined = await Promise.race([read, none]).finally(() =>
      clearTimeout(late),
    );
    if (!now) return;
    const changes = toHand(this.has, now);
    this.has = Object.keys(now);
    for (const change of changes) await this.server.first('aside/key/set', change);
  }
}

async function offer(why: string, ways: Record<string, () => Promise<boolean>>): Promise<boolean> {
  const chosen = await vscode.window.showErrorMessage(`Aside: ${why}`, ...Object.keys(ways));
  return chosen !== undefined && ((await ways[chosen]?.()) ?? false);
}

const typed = async (provider: string): Promise<string | undefined> =>
  (
    await vscode.window.showInputBox({
      title: `Key of ${provider}`,
      prompt: 'It is kept in the secret storage of VS Code, and in no file, setting or log.',
      password: true,
      ignoreFocusOut: true,
    })
  )?.trim();

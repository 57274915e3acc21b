// The life of the server: found, started, restarted after a crash, stopped; and its messages, typed by method.
import * as vscode from 'vscode';
import { CloseAction, ErrorAction, LanguageClient, ResponseError, RevealOutputChannelOn, State } from 'vscode-languageclient/node';
import type { ClientCapabilities, StaticFeature } from 'vscode-languageclient/node';

import { findBinary } from './binary';
import type { Binary } from './binary';
import { readSettings } from './settings';
import type { Capability, ClientNotifications, ClientRequests, ServerRequests } from './wire';

/** Restarts after a crash within {@link RESTART_WINDOW} that nobody is told of. */
const SILENT_RESTARTS = 5;
const RESTART_WINDOW = 180_000;

type Handler<M extends keyof ClientRequests> = (
  params: ClientRequests[M][0],
  token: vscode.CancellationToken,
) => Promise<ClientRequests[M][1]>;

export class Server implements vscode.Disposable {
  private client?: LanguageClient;
  private binary?: Binary;
  private tried: string[] = [];
  private readonly crashes: Date[] = [];
  /** Starts and stops, one after another. */
  private queue: Promise<void> = Promise.resolve();
  private readonly handlers: ((client: LanguageClient) => void)[] = [];
  private readonly running = new vscode.EventEmitter<boolean>();
  private readonly log = vscode.window.createOutputChannel('Aside', { log: true });
  private readonly protocol = vscode.window.createOutputChannel('Aside Protocol', { log: true });
  /** Tells whether the server has just become ready, or is gone. */
  readonly onDidChangeRunning = this.running.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly capability: Capability,
  ) {}

  get isRunning(): boolean {
    return this.client?.state === State.Running;
  }

  onRequest<M extends keyof ClientRequests>(method: M, handler: Handler<M>): void {
    this.handlers.push((client) => client.onRequest(method, handler));
  }

  onNotification<M extends keyof ClientNotifications>(method: M, handler: (params: ClientNotifications[M]) => void): void {
    this.handlers.push((client) => client.onNotification(method, handler));
  }

  /** @throws an error whose message is a sentence for the user */
  async request<M extends keyof ServerRequests>(method: M, params: ServerRequests[M][0]): Promise<ServerRequests[M][1]> {
    if (!this.client || this.client.state === State.Stopped) {
      throw new Error('The Aside server does not run; start it with the command “Aside: Restart Server”.');
    }
    return this.client.sendRequest(method, params);
  }

  restart(): Promise<void> {
    return this.enqueue(async () => {
      await this.end();
      await this.begin();
    });
  }

  stop(): Promise<void> {
    return this.enqueue(() => this.end());
  }

  showLogs(): void {
    this.log.show();
  }

  /** What a report of a problem needs, without settings or anything that was said. */
  debugInformation(): string {
    const { version } = this.context.extension.packageJSON as { version: string };
    const server = this.binary ? `${this.binary.version}, ${this.binary.file} (${this.binary.origin})` : 'not found';
    return [
      `Aside ${version} in ${vscode.env.appName} ${vscode.version} on ${process.platform} ${process.arch}`,
      `server: ${server}; ${this.isRunning ? 'running' : 'stopped'}; workspace ${vscode.workspace.isTrusted ? 'trusted' : 'not trusted'}`,
      ...this.tried.map((line) => `tried: ${line}`),
      ...this.crashes.map((at) => `ended unexpectedly: ${at.toISOString()}`),
    ].join('\n');
  }

  /** The server reads the settings anew; it is told of a trust that was granted in this way, too. */
  settingsChanged(): void {
    if (this.isRunning) void this.client?.sendNotification('workspace/didChangeConfiguration', { settings: this.settings() });
  }

  dispose(): void {
    void this.stop();
    this.log.dispose();
    this.protocol.dispose();
  }

  private settings() {
    const { contributes } = this.context.extension.packageJSON as { contributes: { configuration: { properties: object }[] } };
    return readSettings(contributes.configuration.flatMap(({ properties }) => Object.keys(properties)));
  }

  private enqueue(work: () => Promise<void>): Promise<void> {
    this.queue = this.queue.then(work).catch((error: unknown) => this.log.error(sentence(error)));
    return this.queue;
  }

  private async begin(): Promise<void> {
    this.tried = [];
    this.binary = await findBinary(
      {
        setting: vscode.workspace.getConfiguration('aside').get('server.path', ''),
        extension: this.context.extensionPath,
        path: process.env.PATH ?? '',
        trusted: vscode.workspace.isTrusted,
      },
      this.tried,
    );
    for (const line of this.tried) this.log.info(line);
    if (!this.binary) {
      const where = vscode.workspace.isTrusted ? 'Set aside.server.path, or put aside on your PATH.' : 'Trust the workspace to use another one.';
      this.complain(`Aside found no server that runs. ${where}`);
      return;
    }
    this.client = this.newClient(this.binary);
    try {
      await this.client.start();
    } catch (error) {
      this.client = undefined;
      this.complain(`The Aside server did not start: ${error instanceof Error ? error.message : String(error)}.`);
    }
  }

  private async end(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client?.state === State.Running) await client.stop(5_000).catch((error: unknown) => this.log.warn(`the server did not end: ${error}`));
    await client?.dispose().catch(() => undefined);
  }

  private newClient(binary: Binary): LanguageClient {
    const client = new LanguageClient(
      'aside',
      'Aside',
      { command: binary.file, args: ['lsp', '--stdio'] },
      {
        documentSelector: [{ scheme: 'file' }, { scheme: 'untitled' }],
        outputChannel: this.log,
        traceOutputChannel: withoutAnswers(this.protocol),
        revealOutputChannelOn: RevealOutputChannelOn.Never,
        initializationOptions: () => this.settings(),
        initializationFailedHandler: () => false,
        errorHandler: {
          error: () => ({ action: ErrorAction.Continue, handled: true }),
          closed: () => this.closed(),
        },
        middleware: { workspace: { configuration: () => [this.settings()] } },
      },
    );
    client.registerFeature(declares(this.capability));
    for (const handler of this.handlers) handler(client);
    client.onDidChangeState(({ oldState, newState }) => {
      if (newState === State.Running) this.running.fire(true);
      else if (oldState === State.Running) this.running.fire(false);
    });
    return client;
  }

  private closed() {
    const now = new Date();
    this.crashes.push(now);
    if (this.crashes.length > 10) this.crashes.shift();
    const recent = this.crashes.filter((at) => now.getTime() - at.getTime() < RESTART_WINDOW);
    this.log.warn(`the server ended unexpectedly, ${recent.length} times in the last minutes`);
    if (recent.length <= SILENT_RESTARTS) return { action: CloseAction.Restart, handled: true };
    this.complain(`The Aside server ended ${recent.length} times in a short time, so it is not started again.`);
    return { action: CloseAction.DoNotRestart, handled: true };
  }

  private complain(message: string): void {
    this.log.error(message);
    const actions = { 'Show Logs': () => this.log.show(), Restart: () => this.restart() };
    void vscode.window.showErrorMessage(message, ...Object.keys(actions)).then((chosen) => chosen && actions[chosen as keyof typeof actions]());
  }
}

/** What a request that failed has to say to the user. */
export const sentence = (error: unknown): string =>
  error instanceof ResponseError || error instanceof Error ? error.message : String(error);

function declares(capability: Capability): StaticFeature {
  return {
    fillClientCapabilities(capabilities: ClientCapabilities) {
      capabilities.experimental = { ...(capabilities.experimental as object), aside: capability };
    },
    initialize: () => undefined,
    getState: () => ({ kind: 'static' }),
    clear: () => undefined,
  };
}

/** The trace of the protocol without what a person answers, which may be a secret. */
function withoutAnswers(channel: vscode.LogOutputChannel): vscode.LogOutputChannel {
  const trace = (message: string) =>
    channel.trace(/^Sending response 'aside\/prompt |"send-response"/.test(message) ? message.split(/\n|,"message":/)[0]! : message);
  return new Proxy(channel, {
    get: (target, name) => (name === 'trace' ? trace : (Reflect.get(target, name, target) as unknown)),
  });
}

// The life of the server: found, started, restarted after a crash, stopped; and its messages, typed by method.
import * as vscode from 'vscode';
import { CloseAction, ErrorAction, RevealOutputChannelOn, State } from 'vscode-languageclient/node';
import { findBinary, type Binary } from './binary';
import { Client } from './client';
import { readSettings } from './settings';
import { sentence, traced } from './text';
import type { Capability, ClientNotifications, ClientRequests, ServerRequests } from './wire';

/** Restarts after crashes within three minutes that nobody is told of. */
const SILENT_RESTARTS = 5;

/** Milliseconds that a server may take to be ready; it needs some hundreds on a slow machine. */
const READY = 30_000;

type Handler<M extends keyof ClientRequests> = (
  params: ClientRequests[M][0],
  token: vscode.CancellationToken,
) => Promise<ClientRequests[M][1]>;
type Properties = Record<string, { enum?: string[]; markdownEnumDescriptions?: string[] }>;

export class Server implements vscode.Disposable {
  private client?: Client;
  private binary?: Binary;
  private tried: string[] = [];
  private readonly ends: Date[] = [];
  /** Counts what was wanted last: a start that is no longer wanted is given up. */
  private wish = 0;
  /** Starts and stops, one after another. */
  private queue: Promise<void> = Promise.resolve();
  /** What the server has to have first; no request overtakes it. */
  private told: Promise<void> = Promise.resolve();
  /** Sends what a server that is ready has to have, besides the settings. */
  prepare: () => Promise<void> = () => Promise.resolve();
  private readonly handlers: ((client: Client) => void)[] = [];
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

  onNotification<M extends keyof ClientNotifications>(
    method: M,
    handler: (params: ClientNotifications[M]) => void,
  ): void {
    this.handlers.push((client) => client.onNotification(method, handler));
  }

  /** @throws an error whose message is a sentence for the user */
  async request<M extends keyof ServerRequests>(
    method: M,
    params: ServerRequests[M][0],
  ): Promise<ServerRequests[M][1]> {
    // A server that starts is waited for.
    if (!this.isRunning) await this.queue;
    if (this.client?.state === State.Starting) await this.client.start().catch(() => undefined);
    await this.told;
    return this.first(method, params);
  }

  /** A request that waits for nothing that comes before others. */
  first<M extends keyof ServerRequests>(
    method: M,
    params: ServerRequests[M][0],
  ): Promise<ServerRequests[M][1]> {
    if (this.client?.state === State.Running) return this.client.sendRequest(method, params);
    throw new Error(
      'The Aside server does not run; start it with the command “Aside: Restart Server”.',
    );
  }

  restart(): Promise<void> {
    return this.next((wish) => this.begin(wish));
  }

  stop(): Promise<void> {
    return this.next(() => Promise.resolve());
  }

  showLogs(): void {
    this.log.show();
  }

  /** Facts for a problem report, without settings and without any text of a conversation. */
  debugInformation(): string {
    const { version } = this.context.extension.packageJSON as { version: string };
    const server = this.binary
      ? `${this.binary.version}, ${this.binary.file} (${this.binary.origin})`
      : 'not found';
    return [
      `Aside ${version} in ${vscode.env.appName} ${vscode.version} on ${process.platform} ${process.arch}`,
      `server: ${server}; ${this.isRunning ? 'running' : 'stopped'}; workspace ${vscode.workspace.isTrusted ? 'trusted' : 'not trusted'}`,
      ...this.tried.map((line) => `tried: ${line}`),
      ...this.ends.map((at) => `ended unexpectedly: ${at.toISOString()}`),
    ].join('\n');
  }

  /** The settings that are declared, which are made from the server's own. */
  get properties(): Properties {
    const { contributes } = this.context.extension.packageJSON as {
      contributes: { configuration: { properties: Properties }[] };
    };
    return Object.assign(
      {},
      ...contributes.configuration.map((group) => group.properties),
    ) as Properties;
  }

  /** Sends the settings; the server is told of a trust that was granted in this way, too. */
  settingsChanged(): Promise<void> {
    const { client } = this;
    if (this.isRunning && client)
      this.tell(() =>
        client.sendNotification('workspace/didChangeConfiguration', { settings: this.settings() }),
      );
    return this.told;
  }

  /** Sends something before all requests that come later. */
  private tell(send: () => Promise<void>): void {
    const sent = send().catch((error: unknown) => this.log.error(sentence(error)));
    this.told = Promise.all([this.told, sent]).then(() => undefined);
  }

  /** For a server that was stopped. */
  dispose(): void {
    this.log.dispose();
    this.protocol.dispose();
  }

  private settings() {
    return readSettings(Object.keys(this.properties));
  }

  /**
   * Ends the running or starting server at once, since a start may never end by itself. Then runs the next action,
   * unless another one was requested meanwhile.
   */
  private next(work: (wish: number) => Promise<void>): Promise<void> {
    const wish = ++this.wish;
    const ended = this.client?.end();
    this.client = undefined;
    this.told = Promise.resolve();
    const then = async () => {
      await ended;
      if (wish === this.wish) await work(wish);
    };
    this.queue = this.queue.then(then).catch((error: unknown) => this.log.error(sentence(error)));
    return this.queue;
  }

  private async begin(wish: number): Promise<void> {
    const tried: string[] = [];
    const binary = await findBinary(this.context.extensionPath, tried);
    if (wish !== this.wish) return;
    [this.binary, this.tried] = [binary, tried];
    for (const line of tried) this.log.info(line);
    const where = vscode.workspace.isTrusted
      ? 'Set aside.server.path, or put aside on your PATH.'
      : 'Trust the workspace to use another one.';
    if (!binary) this.complain(`Aside found no server that runs. ${where}`);
    else {
      if (binary.instead) void this.warn(binary);
      await (this.client = this.newClient(binary)).start();
    }
  }

  private newClient(binary: Binary): Client {
    const client: Client = new Client(
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
        // A stream that fails is closed next, and only a connection that is closed is begun again.
        errorHandler: {
          error: () => ({ action: ErrorAction.Continue, handled: true }),
          closed: () => closed(),
        },
        // The server's own code actions and progress are for editors without an extension.
        middleware: {
          provideCodeActions: () => [],
          handleWorkDoneProgress: () => undefined,
          workspace: {
            configuration: () => [this.settings()],
            // Without them the server would ask, and a turn that begins meanwhile would have those of before.
            didChangeConfiguration: () => this.settingsChanged(),
          },
        },
      },
    );
    const usual = client.createDefaultErrorHandler(SILENT_RESTARTS);
    const closed = async () => {
      // One that was ended on purpose has nothing to tell.
      if (this.client !== client) return { action: CloseAction.DoNotRestart };
      this.ends.push(new Date());
      // A server that could not begin would end in the same way again.
      if (client.state !== State.Running) return { action: CloseAction.DoNotRestart };
      const result = await usual.closed();
      if (result.action === CloseAction.DoNotRestart)
        this.complain(
          `The Aside server ended ${SILENT_RESTARTS + 1} times in a short time, so it is not started again.`,
        );
      return result;
    };
    client.capability = this.capability;
    for (const handler of this.handlers) handler(client);
    let late: NodeJS.Timeout | undefined;
    client.onDidChangeState(({ oldState, newState }) => {
      clearTimeout(late);
      if (newState === State.Starting) late = setTimeout(() => this.giveUp(client), READY);
      // They may have changed since it was sent them to begin with.
      if (newState === State.Running) {
        void this.settingsChanged();
        this.tell(() => this.prepare());
      }
      if (newState === State.Running || oldState === State.Running)
        this.running.fire(newState === State.Running);
      if (newState === State.StartFailed) {
        client.kill();
        if (this.client === client)
          this.complain('The Aside server did not start; its log has the reason.');
      }
    });
    return client;
  }

  /** Starts a client. The start fails if the process ends. */
  private giveUp(client: Client): void {
    this.log.error(`the server was not ready within ${READY / 1000} s, and was ended`);
    client.kill();
  }

  /** Tells that the server is not the one that the person set. */
  private async warn({ file, origin, instead }: Binary): Promise<void> {
    const which = origin === 'bundled' ? 'the one of the extension' : file;
    const open = 'Open the Setting';
    const message = `Aside: aside.server.path names no server that runs (${instead}), so ${which} is used.`;
    if ((await vscode.window.showWarningMessage(message, open)) === open)
      await vscode.commands.executeCommand('workbench.action.openSettings', 'aside.server.path');
  }

  private complain(message: string): void {
    this.log.error(message);
    const actions = { 'Show Logs': () => this.log.show(), Restart: () => this.restart() };
    void vscode.window
      .showErrorMessage(message, ...Object.keys(actions))
      .then((chosen) => chosen && actions[chosen as keyof typeof actions]());
  }
}

/** The trace of the protocol without what a person answers, which may be a secret. */
function withoutAnswers(channel: vscode.LogOutputChannel): vscode.LogOutputChannel {
  const trace = (message: string) => channel.trace(traced(message));
  return new Proxy(channel, {
    get: (target, name) =>
      name === 'trace' ? trace : (Reflect.get(target, name, target) as unknown),
  });
}

// One run of the server after another, each with a process, which ends when it has to.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  LanguageClient,
  State,
  type InitializeParams,
  type MessageTransports,
} from 'vscode-languageclient/node';
import type { Capability } from './wire';

/**
 * Milliseconds in which a server has to confirm its end, and then to end. The extension host waits for 5 s when its
 * window closes.
 */
const ENDS = 2_000;

export class Client extends LanguageClient {
  capability?: Capability;
  private process?: ChildProcess;
  private killed = false;

  /** Ends the server: one that runs is asked to first, and one that starts or hangs is not waited for. */
  async end(): Promise<void> {
    if (this.state === State.Running) {
      const asked = await this.stop(ENDS).then(
        () => true,
        () => false,
      );
      if (asked) await this.exited();
    }
    this.kill();
    await this.exited();
    await this.dispose().catch(() => undefined);
  }

  /** Ends the process, and starts no other one. */
  kill(): void {
    this.killed = true;
    this.process?.kill('SIGKILL');
    // Children of the process may hold its pipes open, and the process would seem to run.
    this.process?.stdout?.destroy();
  }

  private async exited(): Promise<void> {
    if (this.process?.exitCode !== null || this.process.signalCode !== null) return;
    await once(this.process, 'exit', { signal: AbortSignal.timeout(ENDS) }).catch(() => undefined);
  }

  protected override async createMessageTransports(encoding: string): Promise<MessageTransports> {
    const transports = await super.createMessageTransports(encoding);
    this.process = this.serverProcess;
    if (!this.killed) return transports;
    this.kill();
    throw new Error('The server was ended before it began.');
  }

  /** Only logs: what the person has to know is said elsewhere, in words that tell what to do. */
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  protected override fillInitializeParams(params: InitializeParams): void {
    super.fillInitializeParams(params);
    params.capabilities.experimental = {
      ...(params.capabilities.experimental as object),
      aside: this.capability,
    };
  }
}

// The MCP servers of the workspace: their state, their tools and what they wrote, and a switch for each.
import * as vscode from 'vscode';
import type { Server } from './server';
import { counted, visible } from './text';
import type { McpServer } from './wire';

/** Pages about servers; the query is what there is to tell. */
const SCHEME = 'aside-mcp';
const ICONS = { ready: '$(pass)', failed: '$(error)', off: '$(circle-slash)' };

type Item = vscode.QuickPickItem & { server?: McpServer };
const NONE: Item = { label: 'None is configured', detail: 'Open the setting aside.mcp.servers' };

type ServerSettings = Record<string, { enabled?: boolean }>;

export class McpServers implements vscode.TextDocumentContentProvider {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly pages = new Map<string, string>();

  constructor(
    private readonly server: Server,
    subscriptions: vscode.ExtensionContext['subscriptions'],
  ) {
    subscriptions.push(
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
    );
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.pages.get(uri.path) ?? '';
  }

  /** Lists the servers, and does what is chosen with one. */
  async show(): Promise<void> {
    const chosen = await vscode.window.showQuickPick(this.listed(), {
      title: 'MCP Servers',
      placeHolder: 'A server to turn on or off, or to look at',
      matchOnDescription: true,
    });
    if (!chosen) return;
    const { server } = chosen;
    if (!server) return openSettings();
    const ways = [
      {
        label: server.state === 'off' ? 'Turn On' : 'Turn Off',
        detail: 'From the next turn on, in all windows',
        run: () => turn(server),
      },
      { label: 'Show Its Tools and Its Log', detail: '', run: () => this.page(server) },
      { label: 'Open Its Settings', detail: '', run: openSettings },
    ];
    const way = await vscode.window.showQuickPick(ways, { title: visible(server.name) });
    await way?.run();
    if (way === ways[0]) await this.show();
  }

  /** The servers of all folders; one that is the same in several of them is listed once. */
  private async listed(): Promise<Item[]> {
    const folders = vscode.workspace.workspaceFolders ?? [undefined];
    const lists = await Promise.all(
      folders.map(async (folder) => {
        const { servers } = await this.server.request('aside/mcp/list', {
          folder: folder?.uri.toString(),
        });
        return servers.map((it) => shownServer(it));
      }),
    );
    const all = new Map(lists.flat().map((it) => [`${it.label}\n${it.description}`, it]));
    return all.size ? [...all.values()] : [NONE];
  }

  private async page(server: McpServer): Promise<void> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${server.name}.txt` });
    this.pages.set(uri.path, pageOf(server));
    this.changed.fire(uri);
    await vscode.window.showTextDocument(uri);
  }
}

function shownServer(server: McpServer): Item {
  const { name, state, tools = [], tokens, problems = [], place } = server;
  const told =
    state === 'ready' ? `${counted(tools.length, 'tool')}, about ${tokens ?? 0} tokens` : state;
  return {
    label: `${ICONS[state]} ${visible(name)}`,
    description: [told, place && visible(place)].filter(Boolean).join(' · '),
    detail: problems.map(visible).join(' ') || undefined,
    server,
  };
}

function pageOf({ name, place, state, problems = [], tools = [], log }: McpServer): string {
  const parts = [
    [name, place ?? '', state, ...problems].filter(Boolean).join('\n'),
    ...tools.map((tool) => `${tool.name}\n${tool.description.replace(/^/gm, '    ')}`),
    log ? `What it wrote to its standard error:\n\n${log}` : 'It wrote nothing to its standard error.',
  ];
  return visible(`${parts.join('\n\n').trimEnd()}\n`);
}

/** Turns a server on or off in the user's settings, wherever it is defined. */
async function turn({ name, state }: McpServer): Promise<void> {
  const settings = vscode.workspace.getConfiguration('aside');
  const { [name]: own = {}, ...others } =
    settings.inspect<ServerSettings>('mcp.servers')?.globalValue ?? {};
  const { enabled, ...rest } = own;
  // What was turned off here is as it was before; else another place says that it is off.
  const isUndone = state === 'off' && enabled === false;
  const changed = isUndone ? rest : { ...rest, enabled: state === 'off' };
  await settings.update(
    'mcp.servers',
    Object.keys(changed).length ? { ...others, [name]: changed } : others,
    vscode.ConfigurationTarget.Global,
  );
}

const openSettings = async (): Promise<void> => {
  await vscode.commands.executeCommand('workbench.action.openSettings', 'aside.mcp.servers');
};

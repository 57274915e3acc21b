// The tools that run in the editor. The server describes them to the model; see ../PROTOCOL.md.
import * as vscode from 'vscode';
import { sentence } from './text';

/** The maximum number of lines that a tool returns. */
const LINES = 200;

type Arguments = { path?: string; line?: number; symbol?: string; query?: string };

/** Runs a tool. A relative path in the arguments starts from the root. */
type Run = (args: Arguments, root: vscode.Uri) => Promise<string> | string;

const tools: Record<string, Run> = {
  editor_diagnostics({ path }, root) {
    if (!path) return listDiagnostics(root);
    const uri = locate(path, root);
    return listDiagnostics(root, [[uri, vscode.languages.getDiagnostics(uri)]]);
  },

  editor_open_files(_args, root) {
    const unsaved = (uri: vscode.Uri) => (openDocument(uri)?.isDirty ? ' (not saved)' : '');
    return lines(openFiles().map((uri) => `${pathFrom(root, uri)}${unsaved(uri)}`));
  },

  async editor_references({ path = '', line = 1, symbol = '' }, root) {
    const uri = locate(path, root);
    const at = await placeOf(symbol, uri, line);
    if (!at) throw new Error(`Line ${line} of ${path} does not contain ${symbol}.`);
    return referencesTo(uri, at, root);
  },

  editor_selection(_args, root) {
    const { document, selection } = vscode.window.activeTextEditor ?? {};
    if (!document || !selection) return 'No editor is active.';
    return `${where(document.uri, selection, root)}\n${document.getText(selection)}`;
  },

  editor_symbols({ path, query = '' }, root) {
    return path ? symbolsOf(locate(path, root)) : symbolsLike(query, root);
  },
};

/** The names of the tools that this editor serves. */
export const names = Object.keys(tools);

type ToolSettings = Record<string, { run?: string }>;
const userTools = (): ToolSettings =>
  vscode.workspace.getConfiguration('aside').inspect<ToolSettings>('conversation.tools')
    ?.globalValue ?? {};

/** Whether the user's settings allow a tool of the editor by its name. */
export const isAllowed = (name: string): boolean =>
  names.includes(name) && userTools()[name]?.run === 'unattended';

/** Allows all tools of the editor by name, in the user's settings: they only read. */
export async function allowAll(): Promise<void> {
  const all = userTools();
  const allowed = names.map((name) => [name, { ...all[name], run: 'unattended' }]);
  await vscode.workspace
    .getConfiguration('aside')
    .update(
      'conversation.tools',
      { ...all, ...Object.fromEntries(allowed) },
      vscode.ConfigurationTarget.Global,
    );
}

/** The tools that the user's settings always allow by name. */
export const allowedByName = (): string[] =>
  Object.entries(userTools()).flatMap(([name, { run }]) => (run === 'unattended' ? [name] : []));

/** Lets a tool ask again that the user's settings allow. */
export async function askAgain(tool: string): Promise<void> {
  const { [tool]: own = {}, ...others } = userTools();
  const rest = Object.fromEntries(Object.entries(own).filter(([key]) => key !== 'run'));
  await vscode.workspace
    .getConfiguration('aside')
    .update(
      'conversation.tools',
      Object.keys(rest).length ? { ...others, [tool]: rest } : others,
      vscode.ConfigurationTarget.Global,
    );
}

export const openTabs = (): vscode.Tab[] =>
  vscode.window.tabGroups.all.flatMap((group) => group.tabs);
export const closeTabs = (shows: (tab: vscode.Tab) => boolean): Thenable<boolean> =>
  vscode.window.tabGroups.close(openTabs().filter(shows));

/** Of several folders of the workspace the one of a file. */
export const rootOf = (uri: vscode.Uri): vscode.Uri | undefined =>
  vscode.workspace.getWorkspaceFolder(uri)?.uri;

/** The files that are open in tabs. */
export const openFiles = (): vscode.Uri[] =>
  openTabs().flatMap(({ input }) =>
    input instanceof vscode.TabInputText && input.uri.scheme === 'file' ? [input.uri] : [],
  );

export const openDocument = (uri: vscode.Uri): vscode.TextDocument | undefined =>
  vscode.workspace.textDocuments.find((it) => it.uri.toString() === uri.toString());

/** Runs a tool for the server, which has checked the arguments. */
export async function callTool(
  name: string,
  args: object,
  root: vscode.Uri,
): Promise<{ content: string; isError: boolean }> {
  try {
    const run = tools[name];
    if (!run) throw new Error(`This editor has no tool ${name}.`);
    return { content: await run(args, root), isError: false };
  } catch (error) {
    return { content: sentence(error), isError: true };
  }
}

/** The position of a symbol on a line, counted from 1. */
async function placeOf(
  symbol: string,
  uri: vscode.Uri,
  line: number,
): Promise<vscode.Position | undefined> {
  const document = await vscode.workspace.openTextDocument(uri);
  const column = line > document.lineCount ? -1 : document.lineAt(line - 1).text.indexOf(symbol);
  return column < 0 ? undefined : new vscode.Position(line - 1, column);
}

export function listDiagnostics(
  root: vscode.Uri | undefined,
  all: [vscode.Uri, readonly vscode.Diagnostic[]][] = vscode.languages.getDiagnostics(),
): string {
  const told = (uri: vscode.Uri, { range, severity, message }: vscode.Diagnostic) =>
    `${where(uri, range, root)}: ${vscode.DiagnosticSeverity[severity].toLowerCase()}: ${message}`;
  return lines(all.flatMap(([uri, diagnostics]) => diagnostics.map((it) => told(uri, it))));
}

async function referencesTo(
  uri: vscode.Uri,
  at: vscode.Position,
  root: vscode.Uri,
): Promise<string> {
  const found = await ask<vscode.Location>('vscode.executeReferenceProvider', uri, at);
  return lines(found.map((it) => where(it.uri, it.range, root)));
}

async function symbolsOf(uri: vscode.Uri): Promise<string> {
  const told = (
    symbol: vscode.DocumentSymbol | vscode.SymbolInformation,
    indent = '',
  ): string[] => {
    const [range, children] =
      'range' in symbol ? [symbol.range, symbol.children] : [symbol.location.range, []];
    return [
      `${indent}${range.start.line + 1}: ${vscode.SymbolKind[symbol.kind]} ${symbol.name}`,
      ...children.flatMap((it) => told(it, `${indent}  `)),
    ];
  };
  return lines(
    (
      await ask<vscode.DocumentSymbol | vscode.SymbolInformation>(
        'vscode.executeDocumentSymbolProvider',
        uri,
      )
    ).flatMap((it) => told(it)),
  );
}

async function symbolsLike(query: string, root: vscode.Uri): Promise<string> {
  const all = await ask<vscode.SymbolInformation>('vscode.executeWorkspaceSymbolProvider', query);
  return lines(
    all.map(
      ({ name, kind, location }) =>
        `${where(location.uri, location.range, root)}: ${vscode.SymbolKind[kind]} ${name}`,
    ),
  );
}

const ask = async <T>(command: string, ...args: unknown[]): Promise<T[]> =>
  (await vscode.commands.executeCommand<T[] | undefined>(command, ...args)) ?? [];

const locate = (path: string, root: vscode.Uri): vscode.Uri =>
  path.startsWith('/') || /^[a-z]:/i.test(path)
    ? vscode.Uri.file(path)
    : vscode.Uri.joinPath(root, path);

/** The path of a file from a folder, where it lies in that. */
function pathFrom(root: vscode.Uri | undefined, uri: vscode.Uri): string {
  return root && uri.path.startsWith(`${root.path}/`)
    ? uri.path.slice(root.path.length + 1)
    : uri.fsPath;
}

const where = (uri: vscode.Uri, { start }: vscode.Range, root?: vscode.Uri): string =>
  `${pathFrom(root, uri)}:${start.line + 1}:${start.character + 1}`;

function lines(all: string[]): string {
  const more = all.length > LINES ? [`… and ${all.length - LINES} more`] : [];
  return [...all.slice(0, LINES), ...more].join('\n') || 'There is nothing.';
}

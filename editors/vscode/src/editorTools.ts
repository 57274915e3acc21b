// The tools that run in the editor: what it knows and files do not say.
import * as vscode from 'vscode';
import { sentence } from './text';
import type { ClientTool } from './wire';

/** Lines that a tool returns at the most. */
const LINES = 200;

type Arguments = { path?: string; line?: number; column?: number; query?: string };
/** A relative path in the arguments is from the root. */
type Run = (args: Arguments, root: vscode.Uri) => Promise<string> | string;
type Tool = { declared: ClientTool; required: string[]; run: Run };

function tool(name: string, description: string, properties: object, run: Run, required: string[] = []): Tool {
  return { declared: { name, description, inputSchema: { type: 'object', properties, required }, readOnly: true }, required, run };
}

const PATH = { path: { type: 'string', description: 'A path, relative to the workspace or absolute.' } };
const PLACE = { ...PATH, line: { type: 'integer', minimum: 1 }, column: { type: 'integer', minimum: 1 } };
const QUERY = { query: { type: 'string' } };

const tools: Tool[] = [
  tool('editor_diagnostics', 'Errors and warnings that the editor shows: of one file, or of all.', PATH, ({ path }, root) =>
    path ? listDiagnostics(root, [[locate(path, root), vscode.languages.getDiagnostics(locate(path, root))]]) : listDiagnostics(root),
  ),
  tool('editor_symbols', 'Symbols of a file (path), or of the workspace (query), as the language’s own server knows them.', { ...PATH, ...QUERY }, ({ path, query }, root) =>
    path ? symbolsOf(locate(path, root)) : symbolsLike(query ?? '', root),
  ),
  tool('editor_references', 'All places that refer to the symbol at a place. Lines and columns count from 1.', PLACE, ({ path, line, column }, root) =>
    referencesTo(locate(path!, root), new vscode.Position(line! - 1, column! - 1), root), ['path', 'line', 'column'],
  ),
  tool('editor_selection', 'The file in the active editor, where the cursor is, and what is selected.', {}, (_args, root) => {
    const { document, selection } = vscode.window.activeTextEditor ?? {};
    return document && selection ? `${where(document.uri, selection, root)}\n${document.getText(selection)}` : 'No editor is active.';
  }),
  tool('editor_open_files', 'The files that are open in the editor.', {}, (_args, root) =>
    lines(openFiles().map((uri) => `${pathFrom(root, uri)}${openDocument(uri)?.isDirty ? ' (not saved)' : ''}`)),
  ),
];

export const declared = tools.map((it) => it.declared);
export const names = declared.map(({ name }) => name);

type ToolSettings = Record<string, { run?: string }>;
const userTools = (): ToolSettings => vscode.workspace.getConfiguration('aside').inspect<ToolSettings>('conversation.tools')?.globalValue ?? {};

/** Whether the user allowed a tool of the editor by its name. */
export const isAllowed = (name: string): boolean => names.includes(name) && userTools()[name]?.run === 'unattended';

/** Allows all tools of the editor by name, in the user's settings: they only read. */
export async function allowAll(): Promise<void> {
  const all = userTools();
  const allowed = names.map((name) => [name, { ...all[name], run: 'unattended' }]);
  await vscode.workspace.getConfiguration('aside').update('conversation.tools', { ...all, ...Object.fromEntries(allowed) }, vscode.ConfigurationTarget.Global);
}

export const openTabs = (): vscode.Tab[] => vscode.window.tabGroups.all.flatMap((group) => group.tabs);
export const closeTabs = (shows: (tab: vscode.Tab) => boolean): unknown => vscode.window.tabGroups.close(openTabs().filter(shows));

/** Of several folders of the workspace the one of a file. */
export const rootOf = (uri: vscode.Uri): vscode.Uri | undefined => vscode.workspace.getWorkspaceFolder(uri)?.uri;

/** The files that are open in tabs. */
export const openFiles = (): vscode.Uri[] =>
  openTabs().flatMap(({ input }) => (input instanceof vscode.TabInputText && input.uri.scheme === 'file' ? [input.uri] : []));

export const openDocument = (uri: vscode.Uri): vscode.TextDocument | undefined =>
  vscode.workspace.textDocuments.find((it) => it.uri.toString() === uri.toString());

export async function callTool(name: string, args: object, root: vscode.Uri): Promise<{ content: string; isError: boolean }> {
  const tool = tools.find((it) => it.declared.name === name);
  try {
    if (!tool) throw new Error(`There is no tool ${name} in this editor.`);
    const missing = tool.required.filter((key) => !(key in args));
    if (missing.length) throw new Error(`${name} needs ${missing.join(', ')}.`);
    return { content: await tool.run(args, root), isError: false };
  } catch (error) {
    return { content: sentence(error), isError: true };
  }
}

export function listDiagnostics(root: vscode.Uri | undefined, all: [vscode.Uri, readonly vscode.Diagnostic[]][] = vscode.languages.getDiagnostics()): string {
  const told = (uri: vscode.Uri, { range, severity, message }: vscode.Diagnostic) =>
    `${where(uri, range, root)}: ${vscode.DiagnosticSeverity[severity].toLowerCase()}: ${message}`;
  return lines(all.flatMap(([uri, diagnostics]) => diagnostics.map((it) => told(uri, it))));
}

async function referencesTo(uri: vscode.Uri, at: vscode.Position, root: vscode.Uri): Promise<string> {
  const found = await ask<vscode.Location>('vscode.executeReferenceProvider', uri, at);
  return lines(found.map((it) => where(it.uri, it.range, root)));
}

async function symbolsOf(uri: vscode.Uri): Promise<string> {
  const told = (symbol: vscode.DocumentSymbol | vscode.SymbolInformation, indent = ''): string[] => {
    const [range, children] = 'range' in symbol ? [symbol.range, symbol.children] : [symbol.location.range, []];
    return [`${indent}${range.start.line + 1}: ${vscode.SymbolKind[symbol.kind]} ${symbol.name}`, ...children.flatMap((it) => told(it, `${indent}  `))];
  };
  return lines((await ask<vscode.DocumentSymbol | vscode.SymbolInformation>('vscode.executeDocumentSymbolProvider', uri)).flatMap((it) => told(it)));
}

async function symbolsLike(query: string, root: vscode.Uri): Promise<string> {
  const all = await ask<vscode.SymbolInformation>('vscode.executeWorkspaceSymbolProvider', query);
  return lines(all.map(({ name, kind, location }) => `${where(location.uri, location.range, root)}: ${vscode.SymbolKind[kind]} ${name}`));
}

const ask = async <T>(command: string, ...args: unknown[]): Promise<T[]> => (await vscode.commands.executeCommand<T[] | undefined>(command, ...args)) ?? [];

const locate = (path: string, root: vscode.Uri): vscode.Uri =>
  path.startsWith('/') || /^[a-z]:/i.test(path) ? vscode.Uri.file(path) : vscode.Uri.joinPath(root, path);

/** The path of a file from a folder, where it lies in that. */
function pathFrom(root: vscode.Uri | undefined, uri: vscode.Uri): string {
  return root && uri.path.startsWith(`${root.path}/`) ? uri.path.slice(root.path.length + 1) : uri.fsPath;
}

const where = (uri: vscode.Uri, { start }: vscode.Range, root?: vscode.Uri): string => `${pathFrom(root, uri)}:${start.line + 1}:${start.character + 1}`;

function lines(all: string[]): string {
  const more = all.length > LINES ? [`… and ${all.length - LINES} more`] : [];
  return [...all.slice(0, LINES), ...more].join('\n') || 'There is nothing.';
}

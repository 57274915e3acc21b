// The tools that run in the editor: what it knows and files do not say.
import * as vscode from 'vscode';

import type { ClientTool } from './wire';

/** Lines that a tool returns at the most. */
const LINES = 200;

type Arguments = { path?: string; line?: number; column?: number; query?: string };
type Run = (args: Arguments) => Promise<string> | string;

const PATH = { path: { type: 'string', description: 'A path, relative to the workspace or absolute.' } };

const tools: { name: string; description: string; properties: object; required?: string[]; run: Run }[] = [
  {
    name: 'editor_diagnostics',
    description: 'Errors and warnings that the editor shows: of one file, or of all.',
    properties: PATH,
    run: ({ path }) =>
      listDiagnostics(path ? [[locate(path), vscode.languages.getDiagnostics(locate(path))]] : vscode.languages.getDiagnostics()),
  },
  {
    name: 'editor_symbols',
    description: 'Symbols of a file (path), or of the workspace (query), as the language’s own server knows them.',
    properties: { ...PATH, query: { type: 'string' } },
    run: async ({ path, query }) => (path ? symbolsOf(locate(path)) : symbolsLike(query ?? '')),
  },
  {
    name: 'editor_references',
    description: 'All places that refer to the symbol at a place. Lines and columns count from 1.',
    properties: { ...PATH, line: { type: 'integer', minimum: 1 }, column: { type: 'integer', minimum: 1 } },
    required: ['path', 'line', 'column'],
    run: async ({ path, line, column }) => {
      const at = new vscode.Position(line! - 1, column! - 1);
      const found = await ask<vscode.Location[]>('vscode.executeReferenceProvider', locate(path!), at);
      return lines((found ?? []).map(({ uri, range }) => where(uri, range)));
    },
  },
  {
    name: 'editor_selection',
    description: 'The file in the active editor, where the cursor is, and what is selected.',
    properties: {},
    run: () => {
      const editor = vscode.window.activeTextEditor;
      if (!editor) return 'No editor is active.';
      const { document, selection } = editor;
      return `${where(document.uri, selection)}\n${document.getText(selection)}`;
    },
  },
  {
    name: 'editor_open_files',
    description: 'The files that are open in the editor.',
    properties: {},
    run: () =>
      lines(openFiles().map((uri) => `${vscode.workspace.asRelativePath(uri)}${openDocument(uri)?.isDirty ? ' (not saved)' : ''}`)),
  },
];

export const openTabs = (): vscode.Tab[] => vscode.window.tabGroups.all.flatMap((group) => group.tabs);

/** The files that are open in tabs. */
export const openFiles = (): vscode.Uri[] =>
  openTabs().flatMap(({ input }) => (input instanceof vscode.TabInputText && input.uri.scheme === 'file' ? [input.uri] : []));

export const openDocument = (uri: vscode.Uri): vscode.TextDocument | undefined =>
  vscode.workspace.textDocuments.find((it) => it.uri.toString() === uri.toString());

export const declared: ClientTool[] = tools.map(({ name, description, properties, required = [] }) => ({
  name,
  description,
  inputSchema: { type: 'object', properties, required },
}));

export async function callTool(name: string, args: object): Promise<{ content: string; isError: boolean }> {
  const tool = tools.find((it) => it.name === name);
  try {
    if (!tool) throw new Error(`There is no tool ${name} in this editor.`);
    const missing = (tool.required ?? []).filter((key) => !(key in args));
    if (missing.length) throw new Error(`${name} needs ${missing.join(', ')}.`);
    return { content: await tool.run(args), isError: false };
  } catch (error) {
    return { content: error instanceof Error ? error.message : String(error), isError: true };
  }
}

export function listDiagnostics(all: [vscode.Uri, vscode.Diagnostic[]][]): string {
  const each = all.flatMap(([uri, diagnostics]) =>
    diagnostics.map((it) => `${where(uri, it.range)}: ${vscode.DiagnosticSeverity[it.severity].toLowerCase()}: ${it.message}`),
  );
  return lines(each);
}

async function symbolsOf(uri: vscode.Uri): Promise<string> {
  type Symbols = (vscode.DocumentSymbol | vscode.SymbolInformation)[];
  const all = (await ask<Symbols>('vscode.executeDocumentSymbolProvider', uri)) ?? [];
  const flat = (symbols: Symbols, indent = ''): string[] =>
    symbols.flatMap((symbol) => [
      `${indent}${('range' in symbol ? symbol.range : symbol.location.range).start.line + 1}: ${vscode.SymbolKind[symbol.kind]} ${symbol.name}`,
      ...flat('children' in symbol ? symbol.children : [], `${indent}  `),
    ]);
  return lines(flat(all));
}

async function symbolsLike(query: string): Promise<string> {
  const all = (await ask<vscode.SymbolInformation[]>('vscode.executeWorkspaceSymbolProvider', query)) ?? [];
  return lines(all.map(({ name, kind, location }) => `${where(location.uri, location.range)}: ${vscode.SymbolKind[kind]} ${name}`));
}

const ask = <T>(command: string, ...args: unknown[]): Thenable<T | undefined> => vscode.commands.executeCommand<T | undefined>(command, ...args);

function locate(path: string): vscode.Uri {
  const folder = vscode.workspace.workspaceFolders?.[0];
  return path.startsWith('/') || /^[a-z]:/i.test(path) || !folder ? vscode.Uri.file(path) : vscode.Uri.joinPath(folder.uri, path);
}

function where(uri: vscode.Uri, { start }: vscode.Range): string {
  return `${vscode.workspace.asRelativePath(uri)}:${start.line + 1}:${start.character + 1}`;
}

function lines(all: string[]): string {
  const more = all.length - LINES;
  return [...all.slice(0, LINES), ...(more > 0 ? [`… and ${more} more`] : [])].join('\n') || 'There is nothing.';
}

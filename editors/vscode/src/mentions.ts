// What can be mentioned behind an `@`: words, and files, folders and symbols of the workspace. The open files come first.
import * as vscode from 'vscode';
import { openFiles } from './editorTools';

export interface Mention {
  /** What is written behind the `@`. */
  name: string;
  /** What is looked for among what was typed; else the name. */
  sought?: string;
  detail: string;
  kind: 'word' | 'file' | 'folder' | 'symbol';
}

/** Words, and what each attaches. */
export const WORDS: Record<string, string> = {
  selection: 'the selection, or the line of the cursor',
  problems: 'errors and warnings',
  open: 'the open files',
  diff: 'what is changed and not committed',
  terminal: 'the text of the active terminal',
};

/** Found files and symbols that are offered. */
const MOST = 40;
/** Characters from which on symbols are looked for. */
const SYMBOL = 2;

const roots = (): vscode.Uri[] => (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri);

/** The path that stands for a file: from its folder of the workspace, with the name of that where there are several. */
const pathOf = (uri: vscode.Uri): string =>
  vscode.workspace.asRelativePath(uri, roots().length > 1);

/** The places that a path may mean, the first of which that exists counts. */
export function placesOf(path: string, first: vscode.Uri[]): vscode.Uri[] {
  const named = (vscode.workspace.workspaceFolders ?? [])
    .filter(({ name }) => roots().length > 1 && `${path}/`.startsWith(`${name}/`))
    .map(({ name, uri }) => vscode.Uri.joinPath(uri, path.slice(name.length)));
  return [...named, ...[...first, ...roots()].map((root) => vscode.Uri.joinPath(root, path))];
}

/** What can be mentioned and has in it what was typed behind the `@`. */
export async function mentions(typed: string): Promise<Mention[]> {
  const like = (name: string) => name.toLowerCase().includes(typed.toLowerCase());
  const words = Object.entries(WORDS).map(([name, detail]) => ({ name, detail, kind: 'word' }));
  const open = openFiles().map((uri) => ({ name: pathOf(uri), detail: 'open', kind: 'file' }));
  const sought = [listed(typed), found(typed), symbols(typed)].map((it) => it.catch(() => []));
  const [below, files, named] = await Promise.all(sought);
  const all = [...words, ...open, ...below!, ...files!].filter(({ name }) => like(name));
  const distinct = new Map([...all, ...named!].reverse().map((it) => [it.name, it] as const));
  return [...distinct.values()].reverse() as Mention[];
}

/** What lies in the folder whose path was typed. */
async function listed(typed: string): Promise<Mention[]> {
  const folder = typed.slice(0, typed.lastIndexOf('/') + 1);
  if (!folder && roots().length > 1)
    return (vscode.workspace.workspaceFolders ?? []).map(({ name }) => ({
      name: `${name}/`,
      detail: 'folder',
      kind: 'folder',
    }));
  for (const place of placesOf(folder, [])) {
    const entries = await vscode.workspace.fs.readDirectory(place).then(
      (it) => it,
      () => undefined,
    );
    if (entries)
      return entries.map(([name, type]): Mention =>
        type & vscode.FileType.Directory
          ? { name: `${folder}${name}/`, detail: 'folder', kind: 'folder' }
          : { name: `${folder}${name}`, detail: '', kind: 'file' },
      );
  }
  return [];
}

/** Files in any folder that have in their name what was typed. */
async function found(typed: string): Promise<Mention[]> {
  if (!/^[\w./-]+$/.test(typed)) return [];
  const caseless = typed.replace(/[a-z]/gi, (it) => `[${it.toLowerCase()}${it.toUpperCase()}]`);
  const pattern = typed.includes('/') ? `**/${caseless}*` : `**/*${caseless}*`;
  const excluded = ['files', 'search'].flatMap((it) =>
    Object.entries(vscode.workspace.getConfiguration(it).get<object>('exclude') ?? {}).flatMap(
      ([glob, isOn]) => (isOn === true ? [glob] : []),
    ),
  );
  const files = await vscode.workspace.findFiles(pattern, `{${excluded.join(',')}}`, MOST);
  return files.map((uri) => ({ name: pathOf(uri), detail: '', kind: 'file' }));
}

/** Symbols of the workspace, each as the lines where it is. */
async function symbols(typed: string): Promise<Mention[]> {
  if (typed.length < SYMBOL || typed.includes('/')) return [];
  const all = await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>(
    'vscode.executeWorkspaceSymbolProvider',
    typed,
  );
  const inside = (all ?? []).filter(({ location }) =>
    vscode.workspace.getWorkspaceFolder(location.uri),
  );
  return inside.slice(0, MOST).map(({ name, kind, location: { uri, range } }) => ({
    name: `${pathOf(uri)}:${range.start.line + 1}-${range.end.line + 1}`,
    sought: name,
    detail: `${vscode.SymbolKind[kind]} ${name}`,
    kind: 'symbol',
  }));
}

const KINDS = {
  word: vscode.CompletionItemKind.Keyword,
  file: vscode.CompletionItemKind.File,
  folder: vscode.CompletionItemKind.Folder,
  symbol: vscode.CompletionItemKind.Reference,
};

/** The mention as it is written. */
export const written = (name: string): string => `@${/\s/.test(name) ? `"${name}"` : name}`;

/** Completes `@` in a reply box. */
export const completion: vscode.CompletionItemProvider = {
  async provideCompletionItems(document, position) {
    const before = document.lineAt(position).text.slice(0, position.character);
    const typed = /(?:^|\s)@([^\s]*)$/.exec(before)?.[1];
    if (typed === undefined) return [];
    const range = new vscode.Range(position.translate(0, -typed.length - 1), position);
    const items = (await mentions(typed)).map(({ name, sought, detail, kind }, at) => {
      const item = new vscode.CompletionItem(
        { label: `@${sought ?? name}`, description: detail },
        KINDS[kind],
      );
      const sortText = String(at).padStart(4, '0');
      return Object.assign(item, { range, sortText, insertText: written(name) });
    });
    return new vscode.CompletionList(items, true);
  },
};

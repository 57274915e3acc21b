// Attachments of a message: what it mentions behind an `@`, and pasted images.
import { randomUUID } from 'node:crypto';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { listDiagnostics, openDocument, openFiles, rootOf } from './editorTools';
import { placesOf, WORDS } from './mentions';
import type { Attachment } from './wire';

/** Schemes of the documents that the server is told of. */
export const SYNCED = ['file', 'untitled'];
const MENTION = /(?<=^|\s)@(?:"([^"\n]+)"|([^\s"]*[^\s".,;:!?)]))/g;

/**
 * The attachments that a message mentions: parts of the workspace, or of the folder of pasted images. A word that names nothing
 * is left alone.
 *
 * @throws an error that says why what a word means cannot be had
 */
export async function readAttachments(
  message: string,
  pasted: vscode.Uri,
  uri: vscode.Uri,
  range: vscode.Range,
): Promise<Attachment[]> {
  const words: Record<string, () => Promise<Attachment[]> | Attachment[]> = {
    selection: () => [place(uri, range)],
    problems: () => [{ uri: 'untitled:problems', text: listDiagnostics(rootOf(uri)) }],
    diagnostics: () => [{ uri: 'untitled:diagnostics', text: listDiagnostics(rootOf(uri)) }],
    open: () => openFiles().map((file) => ({ uri: file.toString() })),
    diff: async () => [{ uri: 'untitled:diff', text: await uncommitted(uri) }],
    terminal: async () => [{ uri: 'untitled:terminal', text: await terminalText() }],
  };
  const found = new Map<string, Attachment>();
  for (const name of mentioned(message)) {
    // A tag like @constructor is the name of something that every object has.
    const attach = Object.hasOwn(words, name)
      ? words[name]!
      : () => named(name, [rootOf(uri) ?? [], pasted].flat());
    for (const it of await attach()) found.set(JSON.stringify([it.uri, it.range]), it);
  }
  return [...found.values()];
}

/**
 * Refuses a message for a turn that runs, with which nothing goes along, where its words alone do not tell what it mentions. A
 * file or a folder the model can read by its name.
 *
 * @throws an error that says what to do
 */
export function refuseAdded(message: string): void {
  const words = [...Object.keys(WORDS), 'diagnostics'];
  const lost = mentioned(message).find((it) => words.includes(it) || PICTURE.test(it));
  if (lost)
    throw new Error(
      `@${lost} does not go along with what is added while Aside works; send it when that is done, or say it in words.`,
    );
}

const mentioned = (message: string): string[] =>
  [...message.matchAll(MENTION)].map(([, quoted, bare]) => quoted ?? bare!);

/**
 * A part of a document; the line of the cursor where nothing is selected. The server knows files and untitled documents, and
 * would take an earlier version of a file for the file.
 */
export function place(uri: vscode.Uri, range: vscode.Range): Attachment {
  const part = range.isEmpty
    ? new vscode.Range(range.start.line, 0, range.start.line + 1, 0)
    : range;
  const document = openDocument(uri);
  if (!document || SYNCED.includes(uri.scheme))
    return { uri: uri.toString(), range: { start: part.start, end: part.end } };
  return {
    uri: `untitled:${encodeURIComponent(`${path.basename(uri.path)} (${uri.scheme})`)}`,
    text: document.getText(part),
  };
}

/** The file of this name, or the lines of it that stand behind a colon, or what lies in the folder of this name. */
async function named(name: string, first: vscode.Uri[]): Promise<Attachment[]> {
  const [, before, from, to] = /^(.*?)(?::(\d+)(?:-(\d+))?)?$/.exec(name)!;
  const file = before!.replace(/\/$/, '');
  const all = path.isAbsolute(file) ? [vscode.Uri.file(file)] : placesOf(file, first);
  for (const uri of all) {
    const type = await vscode.workspace.fs.stat(uri).then(
      (it) => it.type,
      () => vscode.FileType.Unknown,
    );
    if (type & vscode.FileType.Directory) return [await listing(uri, file)];
    if (!(type & vscode.FileType.File)) continue;
    if (from === undefined) return [{ uri: uri.toString() }];
    const start = { line: Math.max(0, Number(from) - 1), character: 0 };
    return [{ uri: uri.toString(), range: { start, end: { line: Number(to ?? from), character: 0 } } }];
  }
  return [];
}

/** What lies in a folder, by name. */
async function listing(folder: vscode.Uri, name: string): Promise<Attachment> {
  const entries = await vscode.workspace.fs.readDirectory(folder);
  const lines = entries.map(([it, type]) => (type & vscode.FileType.Directory ? `${it}/` : it));
  return { uri: `untitled:${encodeURIComponent(`${name}/`)}`, text: lines.sort().join('\n') };
}

/** The part of the API of VS Code's own extension for Git that is used here. */
interface Git {
  enabled: boolean;
  getAPI(version: 1): {
    getRepository(uri: vscode.Uri): { diff(isStaged: boolean): Promise<string> } | null;
    repositories: { diff(isStaged: boolean): Promise<string> }[];
  };
}

/** What is changed and not committed, as VS Code's own extension for Git tells. */
async function uncommitted(uri: vscode.Uri): Promise<string> {
  const git = vscode.extensions.getExtension<Git>('vscode.git');
  const active = await git?.activate();
  const api = active?.enabled ? active.getAPI(1) : undefined;
  const repository = api?.getRepository(uri) ?? api?.repositories[0];
  if (!repository)
    throw new Error('@diff has nothing to show: VS Code knows no Git repository here.');
  const diffs = await Promise.all([repository.diff(true), repository.diff(false)]);
  return diffs.join('').trim() || 'Nothing is changed.';
}

/** The text of the active terminal. VS Code gives it by the clipboard alone, which is as before then. */
async function terminalText(): Promise<string> {
  if (!vscode.window.activeTerminal)
    throw new Error('@terminal has nothing to show: no terminal is open.');
  const { clipboard } = vscode.env;
  const before = await clipboard.readText();
  for (const act of ['selectAll', 'copySelection', 'clearSelection'])
    await vscode.commands.executeCommand(`workbench.action.terminal.${act}`);
  const text = await clipboard.readText();
  await clipboard.writeText(before);
  return text.trimEnd();
}

const PICTURE = /\.(png|jpe?g|gif|webp)$/i;
const IMAGE = /^image\/(png|jpeg|gif|webp)$/;

/** Keeps a pasted image in a file of the extension's own, and mentions it. */
export function imagePaste(pasted: vscode.Uri): vscode.DocumentPasteEditProvider {
  return {
    async provideDocumentPasteEdits(_document, _ranges, data) {
      for (const [type, item] of data) {
        const file = item.asFile();
        const ending = IMAGE.exec(type)?.[1];
        if (!file || !ending) continue;
        const name = `pasted-${randomUUID().slice(0, 8)}.${ending}`;
        await vscode.workspace.fs.writeFile(vscode.Uri.joinPath(pasted, name), await file.data());
        return [new vscode.DocumentPasteEdit(`@${name} `, 'Attach to the message', IMAGE_PASTE)];
      }
      return [];
    },
  };
}

export const IMAGE_PASTE = vscode.DocumentDropOrPasteEditKind.Empty.append('aside', 'image');

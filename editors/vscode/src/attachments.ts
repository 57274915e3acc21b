// Attachments of a message: `@path`, `@selection`, `@diagnostics`, `@open`, and pasted images.
import { randomUUID } from 'node:crypto';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { listDiagnostics, openDocument, openFiles, rootOf } from './editorTools';
import type { Attachment } from './wire';

const WORDS = ['selection', 'diagnostics', 'open'];
/** Schemes of the documents that the server is told of. */
export const SYNCED = ['file', 'untitled'];
const MENTION = /(?<=^|\s)@(?:"([^"\n]+)"|([^\s"]*[^\s".,;:!?)]))/g;

/**
 * The attachments that a message mentions: files of the workspace, or of the folder of pasted images. A word that does
 * not name a file is left alone.
 */
export async function readAttachments(
  message: string,
  pasted: vscode.Uri,
  uri: vscode.Uri,
  range: vscode.Range,
): Promise<Attachment[]> {
  const found = new Map<string, Attachment>();
  const add = (attachment: Attachment) =>
    found.set(JSON.stringify([attachment.uri, attachment.range]), attachment);
  for (const [, quoted, bare] of message.matchAll(MENTION)) {
    const name = quoted ?? bare!;
    if (name === 'selection') add(place(uri, range));
    else if (name === 'diagnostics')
      add({ uri: 'untitled:diagnostics', text: listDiagnostics(rootOf(uri)) });
    else if (name === 'open') openFiles().forEach((file) => add({ uri: file.toString() }));
    else
      (await findFiles(name, [rootOf(uri) ?? [], folders(), pasted].flat())).forEach((file) =>
        add({ uri: file.toString() }),
      );
  }
  return [...found.values()];
}

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

const folders = (): vscode.Uri[] => (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri);

/** The first file of this name in one of the folders, if there is one. */
async function findFiles(name: string, folders: vscode.Uri[]): Promise<vscode.Uri[]> {
  const all = path.isAbsolute(name)
    ? [vscode.Uri.file(name)]
    : folders.map((folder) => vscode.Uri.joinPath(folder, name));
  const types = await Promise.all(
    all.map((uri) =>
      vscode.workspace.fs.stat(uri).then(
        ({ type }) => type,
        () => vscode.FileType.Unknown,
      ),
    ),
  );
  return all.filter((_, at) => types[at] === vscode.FileType.File).slice(0, 1);
}

/** Completes `@` in a reply. */
export const mentions: vscode.CompletionItemProvider = {
  provideCompletionItems(document, position) {
    const before = document.lineAt(position).text.slice(0, position.character);
    const at = /(?:^|\s)@[^\s]*$/.exec(before);
    if (!at) return [];
    const range = new vscode.Range(position.translate(0, at[0].trimStart().length * -1), position);
    const files = openFiles().map((uri) => vscode.workspace.asRelativePath(uri, false));
    return [...WORDS, ...files].map((name) => {
      const item = new vscode.CompletionItem(
        `@${/\s/.test(name) ? `"${name}"` : name}`,
        vscode.CompletionItemKind.Reference,
      );
      return Object.assign(item, { range });
    });
  },
};

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

// Finds the server's program, and proves that it runs before it is started.
import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';

export type Binary = {
  origin: 'setting' | 'bundled' | 'PATH';
  file: string;
  version: string;
  /** Why it is not the one that the setting names. */
  instead?: string;
};

type Place = Omit<Binary, 'version' | 'instead'>;

/** The places in their order. An untrusted workspace gets the program of the extension alone. */
function places(extension: string): Place[] {
  const program = process.platform === 'win32' ? 'aside.exe' : 'aside';
  const all: Place[] = [{ origin: 'bundled', file: path.join(extension, 'server', program) }];
  if (!vscode.workspace.isTrusted) return all;
  const setting = vscode.workspace.getConfiguration('aside').get<string>('server.path');
  if (setting)
    all.unshift({ origin: 'setting', file: setting.replace(/^~(?=[/\\])/, os.homedir()) });
  // A relative folder would be one of the workspace.
  const folders = (process.env.PATH ?? '')
    .split(path.delimiter)
    // Not from the project, in which a model's commands write.
    .filter((folder) => path.isAbsolute(folder) && !inWorkspace(folder));
  return all.concat(
    folders.map((folder) => ({ origin: 'PATH', file: path.join(folder, program) })),
  );
}

/** Whether a folder, links followed, lies in a folder that is open here. */
function inWorkspace(folder: string): boolean {
  const real = (place: string) => {
    try {
      return fs.realpathSync(place);
    } catch {
      return place;
    }
  };
  const lies = (root: string) => !path.relative(root, real(folder)).startsWith('..');
  return (vscode.workspace.workspaceFolders ?? []).some(({ uri }) => lies(real(uri.fsPath)));
}

/** The first program that prints its version; `tried` gets a line for each candidate, with the reason. */
export async function findBinary(extension: string, tried: string[]): Promise<Binary | undefined> {
  let instead: string | undefined;
  for (const place of places(extension)) {
    const { version, problem } = await prove(place.file);
    tried.push(`${place.file} (${place.origin}): ${version ?? problem}`);
    if (version) return { ...place, version, instead };
    if (place.origin === 'setting') instead = `${place.file}: ${problem}`;
  }
  return undefined;
}

function prove(file: string): Promise<{ version?: string; problem?: string }> {
  if (!path.isAbsolute(file)) return Promise.resolve({ problem: 'it is not an absolute path' });
  return new Promise((resolve) => {
    execFile(file, ['--version'], { timeout: 5_000, windowsHide: true }, (error, stdout) => {
      const version = /^aside (\S+)/.exec(stdout)?.[1];
      if (version) resolve({ version });
      else if (error?.code === 'ENOENT') resolve({ problem: 'there is no such file' });
      else
        resolve({
          problem: error?.killed
            ? 'it did not answer within 5 s'
            : (error?.message ?? 'it is not aside').trim(),
        });
    });
  });
}

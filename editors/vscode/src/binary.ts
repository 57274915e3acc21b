// Finds the server's program, and proves that it runs before it is started.
import { execFile } from 'node:child_process';
import * as os from 'node:os';
import * as path from 'node:path';

export interface Places {
  /** The setting `aside.server.path`. */
  setting: string;
  /** The folder of the extension. */
  extension: string;
  /** The environment's `PATH`. */
  path: string;
  trusted: boolean;
}

export interface Candidate {
  origin: 'setting' | 'bundled' | 'PATH';
  file: string;
}

/** The candidates in their order. An untrusted workspace gets the bundled program alone. */
export function candidates(places: Places): Candidate[] {
  const program = process.platform === 'win32' ? 'aside.exe' : 'aside';
  const all: Candidate[] = [{ origin: 'bundled', file: path.join(places.extension, 'server', program) }];
  if (!places.trusted) return all;
  if (places.setting) all.unshift({ origin: 'setting', file: places.setting.replace(/^~(?=[/\\])/, os.homedir()) });
  // A relative folder would be one of the workspace.
  const folders = places.path.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return all.concat(folders.map((folder) => ({ origin: 'PATH', file: path.join(folder, program) })));
}

export interface Binary extends Candidate {
  version: string;
}

/** The first candidate that says its version; `tried` gets a line for each that was looked at, with the reason. */
export async function findBinary(places: Places, tried: string[]): Promise<Binary | undefined> {
  for (const candidate of candidates(places)) {
    const { version, problem } = await prove(candidate.file);
    tried.push(`${candidate.file} (${candidate.origin}): ${version ?? problem}`);
    if (version) return { ...candidate, version };
  }
  return undefined;
}

function prove(file: string): Promise<{ version?: string; problem?: string }> {
  if (!path.isAbsolute(file)) return Promise.resolve({ problem: 'it is not an absolute path' });
  return new Promise((resolve) => {
    execFile(file, ['--version'], { timeout: 5_000, windowsHide: true }, (error, stdout) => {
      const version = /^aside (\S+)/.exec(stdout)?.[1];
      if (version) resolve({ version });
      else if (error && 'code' in error && error.code === 'ENOENT') resolve({ problem: 'there is no such file' });
      else resolve({ problem: error?.killed ? 'it did not answer within 5 s' : (error?.message ?? 'it is not aside').trim() });
    });
  });
}

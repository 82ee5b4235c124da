import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';

/** One of the example's two programs. */
export interface Program {
  readonly name: string;
  /** Why it can't run, or an empty string. */
  readonly why: string;
  command(folder: string): readonly [string, ...string[]];
}

export interface Running {
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** The JSON lines that it has printed. */
  visits(): Visit[];
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

/** What a program prints about a URL. */
export interface Visit {
  readonly url: string;
  readonly depth: number;
  readonly status?: number;
  readonly links?: number;
  readonly new?: number;
  readonly cut?: true;
  readonly disallowed?: true;
}

const PYTHON = [process.env.PYTHON, 'python3', '/usr/bin/python3'].find(
  (python) =>
    python !== undefined &&
    spawnSync(python, ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))'], { timeout: 240_000 })
      .status === 0,
);

export const TYPESCRIPT: Program = {
  name: 'TypeScript',
  why: '',
  command: (folder) => [process.execPath, join(folder, 'dist', 'main.js')],
};

export const PYTHON_PROGRAM: Program = {
  name: 'Python',
  why: PYTHON === undefined ? ' (skipped: no Python 3.9 or later; set PYTHON to one)' : '',
  // -B keeps Python from writing beside the sources.
  command: (folder) => [PYTHON ?? 'python3', '-B', join(folder, 'python', 'worker.py')],
};

/** Starts a program as a user would. */
export function startProgram(
  program: Program,
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Running {
  const [file, ...before] = program.command(folder);
  const child = spawn(file, [...before, ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('close', (code, signal) => resolve(signal ?? code));
  });
  const visits = (): Visit[] =>
    stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Visit);
  return { child, stdout: () => stdout, stderr: () => stderr, visits, ended };
}

import { execFile, spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Move } from './service-clock.js';
import { patienceMs } from './patience.js';
import { serviceProgram } from './service-program.js';
import { until } from './until.js';

/** The service as an operator runs it, in a separate process, with signals and exit codes. */
export interface ServiceProcess {
  readonly child: ChildProcess;
  readonly dataDir: string;
  stdout(): string;
  stderr(): string;
  /** The URL at which it listens, once it is ready. Throws if it exits first. */
  url(): Promise<string>;
  /** Moves the service's clock by `ms`, and the service's view of its Redis's clock. */
  advance(ms: number): Promise<void>;
  /** Its exit code once it has ended, or null if a signal ended it. */
  exit(): Promise<number | null>;
  /** Kills it if it still runs, and removes its data. */
  clean(): Promise<void>;
}

/** A program inherits only these variables. */
const { PATH, FILTER_SEED } = process.env;
const INHERITED = { PATH, FILTER_SEED };

/** Options for starting the service in unusual ways. */
export interface ProcessOptions {
  /** The size limit of each file that it writes (`ulimit -f`, in blocks of 512 bytes), until `prlimit` raises it. */
  readonly fileBlocks?: number;
  /** The path of a program to start instead of the one from the sources. */
  readonly main?: string;
}

/** Starts the service from the current sources, not from `dist`. */
export async function startProcess(
  env: Readonly<Record<string, string>> = {},
  { fileBlocks, main = '' }: ProcessOptions = {},
): Promise<ServiceProcess> {
  const program = main || join(await serviceProgram(), 'main.js');
  const dataDir = await mkdtemp(join(tmpdir(), 'unseen-process-'));
  const shell = ['-c', `ulimit -S -f ${fileBlocks ?? 'unlimited'}; exec "$0" "$@"`];
  const child = spawn('/bin/sh', [...shell, process.execPath, program], {
    env: { ...INHERITED, CLOCK_CHANNEL: '', PORT: '0', DATA_DIR: dataDir, LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  }) as ChildProcessByStdio<null, Readable, Readable>;
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const exited = once(child, 'close').then(([code]) => code as number | null);
  return {
    child,
    dataDir,
    stdout: () => stdout,
    stderr: () => stderr,
    exit: () => exited,
    async advance(advanceMs) {
      const moved = once(child, 'message');
      child.send({ advanceMs } satisfies Move);
      await moved;
    },
    async url() {
      let url: string | undefined;
      await until('the service listens', async () => {
        [, url] = /is listening on (http:\S+?),/.exec(stdout) ?? [];
        if (url === undefined && child.exitCode !== null)
          throw new Error(`the service did not start: ${stderr}`);
        return url !== undefined;
      });
      return url as unknown as string;
    },
    async clean() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await exited;
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** A program's outcome. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs another program from the sources, by its path below `dist/service`, with only `env` as its environment. */
export async function runProgram(
  path: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  const file = join(await serviceProgram(), path);
  return new Promise((resolve) => {
    const options = { env: { ...INHERITED, ...env }, timeout: patienceMs() };
    execFile(process.execPath, [file, ...args], options, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr });
    });
  });
}

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/redis-server.js';
import { HttpClient } from './http-client.js';
import { listensOn } from './process-usage.js';

/** Environment variable with the program of another version to measure. */
export const PROGRAM_VARIABLE = 'BENCH_SERVICE_PROGRAM';

/**
 * Environment variable with the folder for heap-sampler.ts. Not imported from there, because that file starts sampling
 * when it is loaded.
 */
const HEAP_DIR_VARIABLE = 'BENCH_HEAP_PROFILE_DIR';

/** This build's service program. */
export const OWN_PROGRAM = fileURLToPath(new URL('../../service/main.js', import.meta.url));

const HEAP_SAMPLER = new URL('heap-sampler.js', import.meta.url).href;
const PROGRAM = process.env[PROGRAM_VARIABLE] ?? OWN_PROGRAM;
const START_MS = 60_000;
const STOP_MS = 60_000;

export interface ServiceOptions {
  /** The service's settings, and its whole environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** The data directory. By default a temporary one, removed at the end. */
  readonly dataDir?: string;
  /** Folder for profiles of CPU time and allocations, which the service writes when it stops. */
  readonly profileDir?: string | undefined;
}

/** One service process on a free port, started like `npm start`. */
export class Service {
  private constructor(
    readonly port: number,
    /** From starting the process to the first 200 from /readyz. */
    readonly startMs: number,
    private readonly child: ChildProcess,
    private readonly ownDir: string | undefined,
  ) {}

  static async start(options: ServiceOptions = {}): Promise<Service> {
    const ownDir = options.dataDir === undefined ? await makeDataDir() : undefined;
    const port = await freePort();
    const profiling = options.profileDir === undefined ? undefined : await profilingIn(options.profileDir);
    const from = performance.now();
    const child = spawn(process.execPath, [...(profiling?.flags ?? []), PROGRAM], {
      env: {
        PORT: String(port),
        DATA_DIR: options.dataDir ?? ownDir,
        LOG_LEVEL: 'error',
        ...profiling?.env,
        ...options.env,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    running.add(child);
    child.once('exit', () => running.delete(child));
    await untilReady(child, port);
    return new Service(port, performance.now() - from, child, ownDir);
  }

  get pid(): number {
    return this.child.pid as number;
  }

  /** Ends the process. SIGTERM shuts it down gracefully. Also removes the data directory if the bench created it. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const exited = once(this.child, 'exit');
      this.child.kill(signal);
      const lastResort = setTimeout(() => this.child.kill('SIGKILL'), STOP_MS);
      await exited;
      clearTimeout(lastResort);
    }
    if (this.ownDir) await rm(this.ownDir, { recursive: true, force: true });
  }
}

async function profilingIn(dir: string): Promise<{ flags: string[]; env: Record<string, string> }> {
  await mkdir(dir, { recursive: true });
  return {
    flags: ['--cpu-prof', '--cpu-prof-dir', dir, '--import', HEAP_SAMPLER],
    env: { [HEAP_DIR_VARIABLE]: resolve(dir) },
  };
}

/** Runs `work` with a service, and stops the service afterwards. */
export async function withService<T>(
  options: ServiceOptions,
  work: (service: Service) => Promise<T>,
): Promise<T> {
  const service = await Service.start(options);
  try {
    return await work(service);
  } finally {
    await service.stop();
  }
}

/** Creates a folder in the system's temporary folder. */
export function makeDataDir(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'unseen-bench-'));
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

async function untilReady(child: ChildProcess, port: number): Promise<void> {
  let words = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-2_000);
  });
  const client = new HttpClient(port, 1);
  try {
    const end = Date.now() + START_MS;
    while (Date.now() < end && child.exitCode === null) {
      const status = await client.get('/readyz').then(
        (reply) => reply.status,
        () => 0,
      );
      // Another process may have taken the port after the check, and may have sent this answer.
      if (status === 200 && listensOn(child.pid as number, port)) return;
      await sleep(5);
    }
  } finally {
    client.close();
  }
  child.kill('SIGKILL');
  throw new Error(`the service did not get ready: ${words}`);
}

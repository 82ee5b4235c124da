import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { patienceMs } from './patience.js';

/** A real redis-server on a loopback port, stopped by its pid. It ends with the test process, however that exits. */
export interface RedisServer {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  readonly dir: string;
  /** Restarts it on the same port and folder with the same arguments. Stops it first if it runs. */
  restart(): Promise<void>;
  /** Ends it with a signal, then with SIGKILL if it is still running. To pause it, signal its `pid`. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Stops it, and removes its folder unless the caller gave one. Idempotent. */
  stop(): Promise<void>;
}

export interface RedisOptions {
  /** Arguments after the defaults, which store nothing on disk. */
  readonly args?: readonly string[];
  /** An existing working folder. By default a temporary folder, removed at the end. */
  readonly dir?: string;
  /** By default a free port. */
  readonly port?: number;
  /** The text for an initial configuration file that the server may rewrite (a Sentinel needs one). */
  readonly config?: string;
}

const START_ATTEMPTS = 5;
const STOP_MS = 30_000;

export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), 'unseen-redis-')));
  const config = options.config === undefined ? [] : [await writeConfig(dir, options.config)];
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort());
    const defaults = ['--bind', '127.0.0.1', '--port', String(port), '--dir', dir];
    const volatile = ['--save', '', '--appendonly', 'no'];
    const words = [...config, ...defaults, ...volatile, ...(options.args ?? [])];
    const server = new RedisProcess(port, dir, options.dir === undefined, words);
    try {
      await server.start();
      return server;
    } catch (error) {
      // Another process may have taken the port after the check.
      if (options.port !== undefined || attempt === START_ATTEMPTS) {
        await server.stop();
        throw error;
      }
    }
  }
}

async function writeConfig(dir: string, text: string): Promise<string> {
  const path = join(dir, 'redis.conf');
  await writeFile(path, text);
  return path;
}

/**
 * Returns a loopback TCP port that was free just now. It is below the ports that systems use for outgoing connections
 * (from 32,768 on Linux, 49,152 on macOS). So it stays free while a server restarts. Each Jest worker has its own
 * range, and no port is returned twice.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 1; attempt <= PORT_ATTEMPTS; attempt++) {
    const port = FIRST_PORT + WORKERS * randomInt(PORTS_A_WORKER) + (WORKER % WORKERS);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
  throw new Error(`none of ${PORT_ATTEMPTS} ports tried is free`);
}

const FIRST_PORT = 12_000;
const PORTS_A_WORKER = 2_500;
const WORKERS = 8;
const WORKER = Number(process.env.JEST_WORKER_ID ?? 0);
const PORT_ATTEMPTS = 100;
const given = new Set<number>();

async function isFree(port: number): Promise<boolean> {
  const listener = createServer();
  try {
    await once(listener.listen(port, '127.0.0.1'), 'listening');
  } catch {
    return false;
  }
  await once(listener.close(), 'close');
  return true;
}

let program: string | undefined;

/** The server program's path, chosen by the rules that `npm run redis:ensure` follows. */
export function serverProgram(): string {
  // A worker's test files share the script's answer.
  const { onceInWorker } = globalThis;
  program ??= onceInWorker ? onceInWorker('redis-server', findProgram) : findProgram();
  return program;
}

function findProgram(): string {
  return execFileSync(process.execPath, [join('scripts', 'redis-ensure.mjs'), '--path'], {
    encoding: 'utf8',
  });
}

class RedisProcess implements RedisServer {
  private child: ChildProcess | undefined;
  private watchdog: ChildProcess | undefined;

  constructor(
    readonly port: number,
    readonly dir: string,
    private readonly ownsDir: boolean,
    /** The command line. */
    private readonly words: readonly string[],
  ) {}

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    if (this.child?.pid === undefined) throw new Error('this redis-server does not run');
    return this.child.pid;
  }

  async start(): Promise<void> {
    const child = spawn(serverProgram(), this.words, {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.child = child;
    this.watchdog = child.pid === undefined ? undefined : watch(child.pid);
    await untilReady(child, this.port);
  }

  async restart(): Promise<void> {
    await this.kill('SIGTERM');
    await this.start();
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    const child = this.child;
    this.child = undefined;
    this.watchdog?.kill('SIGKILL');
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    const lastResort = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await exited;
    clearTimeout(lastResort);
  }

  async stop(): Promise<void> {
    await this.kill('SIGKILL');
    if (this.ownsDir) await rm(this.dir, { recursive: true, force: true });
  }
}

/**
 * Resolves when the server's output says that it listens. Rejects with the end of the output if the server exits first.
 */
async function untilReady(child: ChildProcess, port: number): Promise<void> {
  let words = '';
  let timer: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve, reject) => {
    const fail = (why: string) => {
      reject(new Error(`redis-server on port ${port} ${why}: ${words.slice(-500)}`));
    };
    timer = setTimeout(fail, patienceMs(), 'did not start');
    child.once('error', reject);
    child.once('exit', () => fail('ended'));
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      words += text;
      if (/ready to accept connections|sentinel id is/i.test(words)) resolve();
    });
  }).finally(() => clearTimeout(timer));
  child.removeAllListeners('exit');
  // Keeps reading, so that a full pipe never blocks the server, without keeping this process alive.
  child.stdout?.removeAllListeners('data').resume();
  child.unref();
  unrefPipe(child.stdout);
}

/**
 * Kills the server when this process is gone. However this process ends, the shell's input ends with it. An exit
 * handler would run neither in Jest's sandbox nor after SIGKILL.
 */
function watch(pid: number): ChildProcess {
  const shell = spawn('/bin/sh', ['-c', 'read _; kill -9 "$0"', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.unref();
  unrefPipe(shell.stdin);
  return shell;
}

function unrefPipe(pipe: unknown): void {
  (pipe as { unref?: () => void } | null)?.unref?.();
}

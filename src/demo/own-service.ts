import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DemoError } from './demo-error.js';

const START_MS = 60_000;
const STOP_MS = 15_000;
const POLL_MS = 20;
const MAIN = fileURLToPath(new URL('../main.js', import.meta.url));

/** A service for the demo: a child process with the embedded store and its data in a temporary folder. */
export class OwnService {
  private words = '';

  private constructor(
    readonly url: URL,
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream
        ?.setEncoding('utf8')
        .on('data', (text: string) => (this.words = (this.words + text).slice(-2_000)));
    }
  }

  /**
   * Resolves when the service accepts requests. If it throws DemoError or the signal's reason, it leaves nothing
   * behind.
   */
  static async start(signal: AbortSignal): Promise<OwnService> {
    const folder = await mkdtemp(join(tmpdir(), 'unseen-demo-'));
    const port = await freePort();
    // Doesn't pass on the demo's environment, in which a REDIS_URL or LOG_LEVEL would affect the service.
    const env = {
      HOST: '127.0.0.1',
      PORT: String(port),
      STORE: 'embedded',
      DATA_DIR: folder,
      LOG_LEVEL: 'warn',
    };
    const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const service = new OwnService(new URL(`http://127.0.0.1:${port}`), child, folder);
    try {
      await service.ready(signal);
      return service;
    } catch (error) {
      await service.stop();
      throw error;
    }
  }

  /** Ends the process and removes its data. Idempotent. */
  async stop(): Promise<void> {
    if (this.running) {
      const exited = once(this.child, 'exit');
      this.child.kill('SIGTERM');
      const lastResort = setTimeout(() => this.child.kill('SIGKILL'), STOP_MS);
      await exited;
      clearTimeout(lastResort);
    }
    await rm(this.folder, { recursive: true, force: true });
  }

  private get running(): boolean {
    return this.child.pid !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  private async ready(signal: AbortSignal): Promise<void> {
    const end = Date.now() + START_MS;
    this.child.once('error', (error) => (this.words += error.message));
    while (Date.now() < end) {
      await sleep(POLL_MS);
      signal.throwIfAborted();
      if (!this.running) throw new DemoError(`the service did not start:\n${this.words}`);
      const answer = await fetch(new URL('/readyz', this.url), { signal }).catch(() => undefined);
      if (answer?.ok) return;
    }
    throw new DemoError(`the service was not ready after ${START_MS / 1000} s:\n${this.words}`);
  }
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, 'close');
  return port;
}

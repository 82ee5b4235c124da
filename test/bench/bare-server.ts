import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('bare-program.js', import.meta.url));
const START_MS = 60_000;

export type Framework = 'fastify' | 'http';

export interface BareAnswer {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A process that answers one call with only a framework (see bare-program.ts). */
export class BareServer {
  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
  ) {}

  /** `folder`: the server stores something in LMDB there, before it answers. */
  static async start(
    framework: Framework,
    { path, headers }: BareAnswer,
    folder?: string,
  ): Promise<BareServer> {
    const args = [framework, path, JSON.stringify(headers)];
    const child = fork(PROGRAM, folder === undefined ? args : [...args, folder]);
    const [port] = (await once(child, 'message', { signal: AbortSignal.timeout(START_MS) })) as [number];
    return new BareServer(port, child);
  }

  get pid(): number {
    return this.child.pid as number;
  }

  async stop(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.disconnect();
    await exited;
  }
}

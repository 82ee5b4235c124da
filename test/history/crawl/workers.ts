import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { QueueAttempt } from '../queue-history.js';
import { between, type FaultSource, type System } from '../system.js';
import { readLog } from './request-log.js';
import type { Task } from './worker.js';

const PROGRAM = fileURLToPath(new URL('worker.js', import.meta.url));
const MOST_AWAY_MS = 500;

/** Processes that work on the queue, and replacements for those that are killed. */
export class Workers {
  private readonly running: ChildProcess[] = [];
  private readonly logs: string[] = [];
  /** The worker processes' failures. */
  readonly failures: string[] = [];

  /** The workers log to `folder`. */
  constructor(
    private readonly system: System,
    private readonly seed: number,
    private readonly folder: string,
    count: number,
  ) {
    for (let place = 0; place < count; place++) this.start(place);
  }

  /** Kills one of them and starts another in its place. */
  readonly kill: FaultSource = {
    kind: 'worker-kill',
    group: 'processes',
    strike: async (random) => {
      const place = random.below(this.running.length);
      await this.end(place);
      await sleep(between(random, 0, MOST_AWAY_MS));
      this.start(place);
      return undefined;
    },
  };

  /** Wraps a fault in the services, so the workers learn the new URLs after it. */
  followed(source: FaultSource): FaultSource {
    return {
      ...source,
      strike: async (random, answers) => {
        const death = await source.strike(random, answers);
        // A worker that was just killed may still count as connected.
        for (const worker of this.running) if (worker.connected) worker.send(this.urls(), () => undefined);
        return death;
      },
    };
  }

  /** Call this once no more workers start. Kills all workers. Returns the attempts in their logs. */
  async stop(): Promise<QueueAttempt[]> {
    await Promise.all(this.running.map((_, place) => this.end(place)));
    return this.logs.flatMap(readLog);
  }

  private start(place: number): void {
    const number = this.logs.length + 1;
    const log = join(this.folder, `${number}.jsonl`);
    // A worker may be killed before it opens its log.
    writeFileSync(log, '');
    this.logs.push(log);
    const task: Task = { seed: this.seed, number, log, urls: this.urls() };
    const worker = fork(PROGRAM, [JSON.stringify(task)]);
    worker.on('error', (error) => this.failures.push(`a worker: ${error.message}`));
    this.running[place] = worker;
  }

  private async end(place: number): Promise<void> {
    const worker = this.running[place];
    if (!worker) return;
    if (worker.exitCode !== null || worker.signalCode !== null) {
      this.failures.push(`a worker ended by itself (${worker.exitCode ?? worker.signalCode})`);
      return;
    }
    worker.kill('SIGKILL');
    await once(worker, 'exit');
  }

  private urls(): string[] {
    return this.system.instances.map(({ url }) => url);
  }
}

import { randomUUID } from 'node:crypto';
import type { CallOptions, Sync, UnseenClient, Verb, VisitedSet } from '#client';
import { DemoError } from './demo-error.js';
import { Progress, type ProgressOutput } from './progress.js';

/** Memory for the set's counters, in bytes. */
export interface SetMemory {
  readonly before: number;
  /** While the sync is open, for both input lists. */
  during: number;
  after: number;
}

/** A visited set with a random name in a running service, synced once. The caller must drop it. */
export class SyncedSet {
  readonly memory: SetMemory;
  private sync: Sync<'kept' | 'new' | 'forgotten' | 'invalid'> | undefined;

  private constructor(
    private readonly set: VisitedSet,
    private readonly errorRate: number,
    private readonly output: ProgressOutput,
    private readonly signal: AbortSignal,
    memoryBytes: number,
  ) {
    this.memory = { before: memoryBytes, during: memoryBytes, after: memoryBytes };
  }

  static async create(
    client: UnseenClient,
    { capacity, errorRate }: { capacity: number; errorRate: number },
    output: ProgressOutput,
    signal: AbortSignal,
  ): Promise<SyncedSet> {
    // Fails immediately if the service is unavailable. Other client methods retry.
    await client.ready({ signal });
    const set = client.visitedSet(`demo-${randomUUID()}`);
    // The set need not grow, because the number of URLs is known.
    const { memoryBytes } = await set.create({ capacity, errorRate, growth: 'none' }, { signal });
    return new SyncedSet(set, errorRate, output, signal, memoryBytes);
  }

  /** Opens the sync, for `capacity` URLs. */
  async openSync(capacity: number): Promise<void> {
    const { errorRate, signal } = this;
    this.sync = await this.set.syncs.open({ capacity, errorRate }, { signal });
    const { memoryBytes } = await this.sync.describe({ signal });
    this.memory.during = this.memory.before + memoryBytes;
  }

  /**
   * Forgets the URLs that are not in the new input list, even if they are most of the set. Returns how many it forgot.
   */
  async commitSync(): Promise<{ forgotten: number; seconds: number }> {
    const begun = performance.now();
    const { wouldForget } = await this.opened.commit({ force: true }, { signal: this.signal });
    const seconds = (performance.now() - begun) / 1_000;
    this.memory.after = (await this.set.describe({ signal: this.signal })).memoryBytes;
    return { forgotten: wouldForget, seconds };
  }

  /**
   * Sends URLs with a method of the set or its sync. `take` gets each URL's result and index. Returns the duration in
   * seconds.
   */
  async pass(
    label: string,
    verb: 'visit' | 'check' | 'keep',
    urls: Iterable<string>,
    take: (answer: string, place: number) => void,
  ): Promise<number> {
    const progress = new Progress(this.output, label);
    const send = (verb === 'keep' ? this.opened.keep : this.set[verb]) as Verb<string, string, CallOptions>;
    let answered = 0;
    for await (const { results } of send(urls, { signal: this.signal }).blocks()) {
      for (const answer of results) take(answer, answered++);
      progress.add(results.length);
    }
    return progress.end();
  }

  /** Has its own signal, because the set's signal may already be aborted. */
  drop(signal: AbortSignal): Promise<void> {
    return this.set.drop({ signal });
  }

  private get opened(): Sync<'kept' | 'new' | 'forgotten' | 'invalid'> {
    if (!this.sync) throw new DemoError('no sync is open');
    return this.sync;
  }
}

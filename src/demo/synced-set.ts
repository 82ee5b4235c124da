import { randomUUID } from 'node:crypto';
import type { CallOptions, Sync, UnseenClient, Verb, VisitedSet } from '#client';
import { DemoError } from './demo-error.js';
import { Progress, type ProgressOutput } from './progress.js';

/** Memory of its counters, in bytes. */
export interface SetMemory {
  readonly before: number;
  /** While the sync is open, of both lists together. */
  during: number;
  after: number;
}

/** A visited set with a random name in a running service, which is synced once. The caller must drop it. */
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
    // It fails at once where the client would be patient.
    await client.ready({ signal });
    const set = client.visitedSet(`demo-${randomUUID()}`);
    // The numbers of URLs are known.
    const { memoryBytes } = await set.create({ capacity, errorRate, growth: 'none' }, { signal });
    return new SyncedSet(set, errorRate, output, signal, memoryBytes);
  }

  /** Opens the sync, for so many URLs. */
  async openSync(capacity: number): Promise<void> {
    const { errorRate, signal } = this;
    this.sync = await this.set.syncs.open({ capacity, errorRate }, { signal });
    const { memoryBytes } = await this.sync.describe({ signal });
    this.memory.during = this.memory.before + memoryBytes;
  }

  /** Forgets what was not listed, however much it is: whoever names two lists means them. Answers how many were forgotten. */
  async commitSync(): Promise<{ forgotten: number; seconds: number }> {
    const begun = performance.now();
    const { wouldForget } = await this.opened.commit({ force: true }, { signal: this.signal });
    const seconds = (performance.now() - begun) / 1_000;
    this.memory.after = (await this.set.describe({ signal: this.signal })).memoryBytes;
    return { forgotten: wouldForget, seconds };
  }

  /** Sends URLs by a verb of the set, or of its sync. `take` gets the answer of each, and its place. Returns the seconds it took. */
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

  /** With a signal of its own, because that of the set may have been aborted. */
  drop(signal: AbortSignal): Promise<void> {
    return this.set.drop({ signal });
  }

  private get opened(): Sync<'kept' | 'new' | 'forgotten' | 'invalid'> {
    if (!this.sync) throw new DemoError('the service opened no sync');
    return this.sync;
  }
}

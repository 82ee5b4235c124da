import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DemoError } from './demo-error.js';
import { Progress, type ProgressOutput } from './progress.js';
import type { ServiceClient } from './service-client.js';

/** Lines that are handed to the connection at a time. */
const PORTION = 1_000;
const POLL_MS = 100;

/** A sync, with the members that the demo reads. */
interface SyncBody {
  readonly id: string;
  readonly state: string;
  readonly wouldForget: number;
  readonly memoryBytes: number;
}

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
  private sync: SyncBody | undefined;

  private constructor(
    private readonly client: ServiceClient,
    private readonly path: string,
    private readonly errorRate: number,
    private readonly output: ProgressOutput,
    memoryBytes: number,
  ) {
    this.memory = { before: memoryBytes, during: memoryBytes, after: memoryBytes };
  }

  static async create(
    client: ServiceClient,
    { capacity, errorRate }: { capacity: number; errorRate: number },
    output: ProgressOutput,
  ): Promise<SyncedSet> {
    const name = `demo-${randomUUID()}`;
    // The numbers of URLs are known.
    const spec = { name, capacity, errorRate, growth: 'none' };
    const made = (await client.call('POST', '/v1/visited-sets', spec)) as Partial<SyncBody> | undefined;
    if (typeof made?.memoryBytes !== 'number') throw new DemoError('no Unseen service answers there');
    return new SyncedSet(client, `/v1/visited-sets/${name}`, errorRate, output, made.memoryBytes);
  }

  /** Where the lines of the sync go, below the set's own path. Throws unless a sync was opened. */
  get syncLines(): string {
    return `/syncs/${this.opened.id}/urls`;
  }

  /** Opens the sync, for so many URLs. */
  async openSync(capacity: number): Promise<void> {
    const asked = { capacity, errorRate: this.errorRate };
    this.sync = (await this.client.call('POST', `${this.path}/syncs`, asked)) as SyncBody;
    this.memory.during = this.memory.before + this.sync.memoryBytes;
  }

  /** Forgets what was not listed, however much it is: whoever names two lists means them. Answers how many were forgotten. */
  async commitSync(): Promise<{ forgotten: number; seconds: number }> {
    const { id } = this.opened;
    const begun = performance.now();
    const path = `${this.path}/syncs/${id}`;
    let sync = (await this.client.call('POST', `${path}/commit`, { force: true })) as SyncBody;
    while (sync.state === 'committing') {
      await sleep(POLL_MS);
      sync = (await this.client.call('GET', path)) as SyncBody;
    }
    const seconds = (performance.now() - begun) / 1_000;
    this.memory.after = ((await this.client.call('GET', this.path)) as SyncBody).memoryBytes;
    return { forgotten: sync.wouldForget, seconds };
  }

  /** Streams URLs to a route of the set. `take` gets the answer of each, and its place. Returns the seconds it took. */
  async pass(
    label: string,
    route: string,
    urls: Iterable<string>,
    take: (answer: string, place: number) => void,
  ): Promise<number> {
    const progress = new Progress(this.output, label);
    let sent = 0;
    let answered = 0;
    const text = async function* (): AsyncGenerator<string> {
      for (const portion of portions(urls)) {
        sent += portion.length;
        yield `${portion.join('\n')}\n`;
      }
    };
    for await (const { results } of this.client.stream(`${this.path}${route}`, text())) {
      if (!results) continue;
      for (const answer of results) take(answer, answered++);
      progress.add(results.length);
    }
    if (answered !== sent)
      throw new DemoError(`${label}: ${sent} lines were sent, ${answered} were answered`);
    return progress.end();
  }

  /** Uses a client of its own, because that of the set may have been interrupted. */
  async drop(client: ServiceClient): Promise<void> {
    await client.call('DELETE', this.path);
  }

  private get opened(): SyncBody {
    if (!this.sync) throw new TypeError('no sync was opened');
    return this.sync;
  }
}

function* portions(urls: Iterable<string>): Generator<string[]> {
  let portion: string[] = [];
  for (const url of urls) {
    portion.push(url);
    if (portion.length < PORTION) continue;
    yield portion;
    portion = [];
  }
  if (portion.length > 0) yield portion;
}

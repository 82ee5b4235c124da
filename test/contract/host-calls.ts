import type { Filter, PerHost } from '#store';
import { makeFilter, type FilterOptions } from './calls.js';
import { payloads, QueueCalls } from './queue-calls.js';
import type { Subject } from './subject.js';

/** Longer than any test takes. */
export const DELAY_MS = 600_000;
/** A lease that does not end during a test. */
export const HELD_MS = 80_000_000;

/** Some URLs of a host, from number `from` on. */
export const urls = (host: string, count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, n) => `http://${host}.example/${from + n}`);

/** The options of a set with `perHost`. */
export const hostOptions = (perHost: PerHost, more: FilterOptions = {}): FilterOptions => ({
  ...{ kind: 'visited-set', errorRate: 1e-9, capacity: 5_000, growsTo: Infinity, perHost },
  segmentation: { maxSegmentBytes: 2 ** 24, minSegments: 1, minSegmentBytes: 1, spread: 1 },
  ...more,
});

/** Calls on sets with `perHost`. */
export class HostCalls extends QueueCalls {
  constructor(private readonly tested: Subject) {
    super(tested);
  }

  make(perHost: PerHost, more?: FilterOptions): Promise<Filter> {
    return makeFilter(this.tested.store, hostOptions(perHost, more));
  }

  /** The same set, after a restart. */
  async reopened({ name, kind }: Filter): Promise<Filter> {
    await this.tested.reopen();
    return this.tested.store.open(name, kind);
  }

  async queueOf(filter: Filter) {
    return (await this.tested.store.describe(filter)).queue!;
  }

  /** Leases entries for long. Returns their payloads. */
  async take(filter: Filter, max = 100, maxPerHost?: number): Promise<string[]> {
    const limits = maxPerHost === undefined ? undefined : { maxPerHost };
    return payloads(await this.lease(filter, max, HELD_MS, limits));
  }
}

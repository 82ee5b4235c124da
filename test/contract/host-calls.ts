import { expect } from '@jest/globals';
import { hostWords, segmentOf } from '#bloom';
import type { Filter, PerHost } from '#store';
import { TEST_SEED } from '../support/fixed-random.js';
import { made, makeFilter, type FilterOptions } from './calls.js';
import { payloads, QueueCalls } from './queue-calls.js';
import type { Subject } from './subject.js';

/** Longer than any test takes. */
export const DELAY_MS = 600_000;
/** A lease that doesn't end during a test. */
export const HELD_MS = 80_000_000;

/** Some of a host's URLs, from number `from` on. */
export const urls = (host: string, count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, n) => `http://${host}.example/${from + n}`);

/** A host's entries. */
export const ofHost = <E extends { readonly payload: string }>(entries: readonly E[], host: string): E[] =>
  entries.filter(({ payload }) => new URL(payload).hostname === `${host}.example`);

/** Options for a set with `perHost` and this many segments. */
export const hostOptions = (
  perHost: PerHost,
  more: FilterOptions = {},
  spread: number = 1,
): FilterOptions => ({
  ...{ kind: 'visited-set', errorRate: 1e-9, capacity: 5_000, growsTo: Infinity, perHost },
  segmentation: { maxSegmentBytes: 2 ** 24, minSegments: 1, minSegmentBytes: 1, spread },
  ...more,
});

/** Calls on sets with `perHost`. */
export class HostCalls extends QueueCalls {
  /** The ways to void a leased URL, by their effect. */
  readonly voids: readonly (readonly [string, (filter: Filter, url: string) => Promise<unknown>])[] = [
    ['forgotten', (filter, url) => this.forget(filter, [url])],
    [
      'dropped',
      async (filter, url) => {
        const { entries } = await this.tested.store.queue.entries(filter, { state: 'leased' }, 10);
        const ids = entries.filter(({ payload }) => payload === url).map(({ id }) => id);
        await this.tested.store.queue.drop(filter, ids, made());
      },
    ],
    [
      'dropped with its host',
      (filter, url) => this.tested.store.hosts.drop(filter, new URL(url).hostname, made()),
    ],
  ];

  /** `spread`: how many segments the sets have. By default, as many as in the store under test. */
  constructor(
    private readonly tested: Subject,
    private readonly spread = tested.spread,
  ) {
    super(tested);
  }

  options(perHost: PerHost, more?: FilterOptions): FilterOptions {
    return hostOptions(perHost, more, this.spread);
  }

  make(perHost: PerHost, more?: FilterOptions): Promise<Filter> {
    return makeFilter(this.tested.store, this.options(perHost, more));
  }

  /** Leases again each time that a watch wakes it, until it finds entries. Returns their payloads. */
  async onceWoken(filter: Filter): Promise<string[]> {
    let wake: () => void = () => undefined;
    const end = this.tested.store.queue.watch(filter, () => {
      wake();
    });
    try {
      for (;;) {
        const woken = new Promise<void>((resolve) => (wake = resolve));
        const found = await this.take(filter);
        if (found.length > 0) return found;
        await woken;
      }
    } finally {
      end();
    }
  }

  /** Host names that share a segment, so these hosts take turns. */
  sharing(count: number, segment = 0): string[] {
    const names: string[] = [];
    for (let n = 0; names.length < count; n++)
      if (this.segmentOf(urls(`s${n}`, 1)[0]!) === segment) names.push(`s${n}`);
    return names;
  }

  /** One host name in each segment. */
  apart(): string[] {
    return Array.from({ length: this.spread }, (_, segment) => this.sharing(1, segment)).flat();
  }

  /** Expects URLs in the order that leases promise: hosts take turns within a segment. */
  expectInTurn(found: readonly string[], expected: readonly string[]): void {
    expect(this.bySegment(found)).toEqual(this.bySegment(expected));
  }

  /** Each segment's URLs, in order. */
  bySegment(some: readonly string[]): string[][] {
    const lists = Array.from({ length: this.spread }, (): string[] => []);
    for (const url of some) lists[this.segmentOf(url)]!.push(url);
    return lists;
  }

  private segmentOf(url: string): number {
    const [first = 0, second = 0] = hostWords(new URL(url).hostname, TEST_SEED);
    return segmentOf(first, second, { segments: this.spread, spread: this.spread });
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

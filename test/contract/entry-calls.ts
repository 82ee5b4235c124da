import { expect } from '@jest/globals';
import { positionsOf } from '#bloom';
import {
  PRIORITIES,
  type EntryQuery,
  type EntryState,
  type Filter,
  type LeasedEntry,
  type QueueEntry,
} from '#store';
import { discover, made, makeFilter, SEGMENTED, type FilterOptions } from './calls.js';
import { HELD_MS, HostCalls, urls } from './host-calls.js';
import { payloads } from './queue-calls.js';
import type { Subject } from './subject.js';

/** A kind of queue: its name, and how to make a set with one. `segmented`: the set may have several segments. */
type Kind = readonly [name: string, make: (more?: FilterOptions, segmented?: 'segmented') => Promise<Filter>];

/** Lists and drops entries of queues. */
export class EntryCalls extends HostCalls {
  constructor(private readonly of: Subject) {
    super(of);
  }

  plain(more: FilterOptions = {}): Promise<Filter> {
    return makeFilter(this.of.store, { kind: 'visited-set', errorRate: 1e-9, capacity: 5_000, ...more });
  }

  get kinds(): readonly Kind[] {
    const plain: Kind = [
      'with one lane',
      (more, segmented) => this.plain({ ...more, ...(segmented && { segmentation: SEGMENTED }) }),
    ];
    const withHosts: Kind = ['with perHost', (more) => this.make({}, more)];
    return [plain, withHosts];
  }

  /** All entries, page by page. While a slot moves, a page may start over. */
  list(filter: Filter, query: EntryQuery = {}, limit = 1_000): Promise<QueueEntry[]> {
    return this.of.harness.still(async () => {
      const found: QueueEntry[] = [];
      for (let after: string | undefined, more = true; more;) {
        const page = await this.of.store.queue.entries(filter, query, limit, after);
        expect(page.entries.length).toBeLessThanOrEqual(limit);
        found.push(...page.entries);
        after = page.next;
        more = after !== undefined;
        if (after !== undefined) expect(after).toMatch(/^[\w-]{1,72}$/);
      }
      return found;
    });
  }

  async ofUrls(filter: Filter, wanted: readonly string[]): Promise<QueueEntry[]> {
    return (await this.list(filter)).filter(({ payload }) => wanted.includes(payload));
  }

  /** Returns one of Settled per entry. */
  async drop(filter: Filter, entries: readonly { id: string }[], operation = made()): Promise<number[]> {
    const ids = entries.map(({ id }) => id);
    return [...(await this.of.store.queue.drop(filter, ids, operation))];
  }

  /** Removes entries' items if the entries are still where they were listed. Returns one of Removed per entry. */
  async removeListed(
    filter: Filter,
    entries: readonly Pick<QueueEntry, 'id' | 'payload'>[],
    operation = made(),
  ): Promise<number[]> {
    const positions = positionsOf(
      entries.map(({ payload }) => payload),
      filter.seed,
      filter.geometry,
    );
    const ids = entries.map(({ id }) => id);
    return [...(await this.of.store.counters.remove(filter, positions, operation, ids))];
  }

  /** Queues entries, `each` of them in each state. One lease holds all leased entries. */
  async fill(
    filter: Filter,
    each: number,
  ): Promise<{ readonly of: Record<EntryState, string[]>; readonly held: LeasedEntry[] }> {
    const names = ['a', 'b', 'c'];
    const lists = names.map((name) => urls(name, Math.ceil((4 * each) / 3)));
    for (const [n, list] of lists.entries())
      await discover(this.of.store, filter, list, made(), { priority: PRIORITIES[n] });
    const scheduled = names.flatMap((name) => urls(name, Math.ceil(each / 3), 1_000));
    await discover(this.of.store, filter, scheduled, made(), { delayMs: HELD_MS });
    // Each state has entries from each host.
    const limits = filter.perHost && { maxPerHost: Math.ceil(each / 3) };
    const lease = () => this.lease(filter, each, HELD_MS, limits);
    const [dead, delayed, held] = [await lease(), await lease(), await lease()];
    await this.release(filter, dead, { reason: 'gone' });
    await this.release(filter, delayed, { delayMs: HELD_MS, countAttempt: false });
    // Some have their own end.
    await this.extend(filter, held.slice(1, 3), HELD_MS + 1_000);
    const taken = payloads([...dead, ...delayed, ...held]);
    const waiting = lists.flat().filter((url) => !taken.includes(url));
    const of = { leased: payloads(held), delayed: payloads(delayed), dead: payloads(dead) };
    return { of: { waiting, scheduled, ...of }, held };
  }
}

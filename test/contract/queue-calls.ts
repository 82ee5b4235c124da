import type { Filter, LeasedEntry, LeaseLimits, Release } from '#store';
import { discover, made, remove, type Order } from './calls.js';
import type { Subject } from './subject.js';

export const LONG_MS = 60_000;
/** A lease or delay of one millisecond has ended by then. */
export const OVER_MS = 2;

export function payloads(entries: readonly { payload: string }[]): string[] {
  return entries.map(({ payload }) => payload);
}

/** The queue's calls, each with its own operation. */
export class QueueCalls {
  constructor(private readonly subject: Pick<Subject, 'store'>) {}

  lease(filter: Filter, max: number, ms = LONG_MS, limits?: LeaseLimits): Promise<LeasedEntry[]> {
    return this.subject.store.queue.lease(filter, max, ms, made(), limits);
  }

  async ack(filter: Filter, entries: readonly { id: string }[], againAfterMs?: number): Promise<number[]> {
    const ids = entries.map(({ id }) => id);
    return [...(await this.subject.store.queue.ack(filter, ids, made(), againAfterMs))];
  }

  async release(
    filter: Filter,
    entries: readonly { id: string }[],
    release?: Partial<Release>,
  ): Promise<number[]> {
    const ids = entries.map(({ id }) => id);
    return [...(await this.subject.store.queue.release(filter, ids, made(), release))];
  }

  async extend(filter: Filter, entries: readonly { id: string }[], ms: number): Promise<number[]> {
    const ids = entries.map(({ id }) => id);
    return [...(await this.subject.store.queue.extend(filter, ids, ms, made()))];
  }

  discover(filter: Filter, keys: readonly string[], how?: Order): Promise<number[]> {
    return discover(this.subject.store, filter, keys, made(), how);
  }

  forget(filter: Filter, keys: readonly string[]): Promise<number[]> {
    return remove(this.subject.store, filter, keys);
  }

  async putBack(filter: Filter, chosen: ReadonlySet<string>): Promise<string[]> {
    const { entries } = await this.subject.store.queue.deadLetters(filter, 1_000);
    const some = entries.filter(({ payload }) => chosen.has(payload));
    await this.subject.store.queue.putBack(
      filter,
      some.map(({ id }) => id),
      made(),
    );
    return payloads(some);
  }

  /** All dead letters. */
  async letters(filter: Filter): Promise<{ item: string; attempt: number; reason: string }[]> {
    const { entries } = await this.subject.store.queue.deadLetters(filter, 10_000);
    return entries.map(({ payload, attempt, reason }) => ({ item: payload, attempt, reason }));
  }
}

import { positionsOf } from '#bloom';
import { PRIORITIES, type Filter, type FilterSpec, type Priority } from '#store';
import type { Sizes } from '../../libs/store/src/embedded/database/sizes.js';

/** An entry of a queue and its place. */
export interface Entry {
  readonly item: string;
  readonly priority: Priority;
  attempt: number;
  place:
    | { readonly in: 'line' }
    | { readonly in: 'lease'; readonly lease: number; readonly index: number; until: number }
    | { readonly in: Delay; readonly number: number; readonly index: number; readonly until: number }
    | { readonly in: 'dead'; readonly number: number; readonly reason: string };
}

type Delay = 'delay' | 'schedule';

/** Bytes of an entry without its payload and host. */
const ENTRY_BYTES = 34;
const HOST_BYTES = 4;

const LEASE_ENDED = 'the lease ended';

/** The queue of a visited set, in arrays, with its exact order. */
export class QueueModel {
  /** Waiting entries in their order, and all others. */
  entries: Entry[] = [];
  /** Nothing is leased before this time. */
  private readyAt = 0;
  private leases = 0;
  private delays = 0;
  private letters = 0;
  /** Entries that were forgotten while a lease held them. */
  private readonly forgotten = new Set<string>();

  constructor(
    private readonly spec: Pick<FilterSpec, 'maxAttempts' | 'perHost'>,
    private readonly clock: { now: number },
    private readonly sizes: Sizes,
  ) {}

  get now(): number {
    return this.clock.now;
  }

  push(items: readonly string[], priority: Priority = 'normal', delayMs = 0): void {
    if (items.length === 0) return;
    this.moveDue();
    const entries = items.map((item): Entry => ({ item, priority, attempt: 0, place: { in: 'line' } }));
    this.entries.push(...entries);
    if (delayMs > 0) this.delay('schedule', entries, delayMs);
  }

  /** Takes the entries off. They come back after this time, as if never leased. */
  again(entries: readonly Entry[], afterMs: number): void {
    for (const entry of entries) entry.attempt = 0;
    this.delay('schedule', entries, afterMs);
  }

  /** Removes the scheduled entries whose items are not kept. */
  dropUnkept(isKept: (item: string) => boolean): void {
    this.entries = this.entries.filter(({ item, place }) => place.in !== 'schedule' || isKept(item));
  }

  /** Entries that come back at the same time share rows, which limits what one change moves. */
  private delay(place: Delay, entries: readonly Entry[], ms: number): void {
    let [number, bytes] = [++this.delays, 0];
    for (const [index, entry] of entries.entries()) {
      const own = ENTRY_BYTES + (this.spec.perHost ? HOST_BYTES : 0) + Buffer.byteLength(entry.item);
      if (bytes > 0 && bytes + own > this.sizes.rowBytes) [number, bytes] = [++this.delays, 0];
      bytes += own;
      entry.place = { in: place, number, index, until: this.clock.now + ms };
    }
  }

  forget(items: readonly string[]): void {
    for (const { item, place } of this.entries) {
      if (place.in === 'lease' && items.includes(item)) this.forgotten.add(`${place.lease} ${place.index}`);
    }
    this.entries = this.entries.filter(({ item }) => !items.includes(item));
  }

  /** Returns the number of the lease and the entries that it holds. */
  lease(max: number, leaseMs: number): { lease: number; held: { item: string; attempt: number }[] } {
    this.moveDue();
    const { delayMs } = this.spec.perHost ?? {};
    const most = this.isPaused ? 0 : delayMs === undefined ? max : 1;
    const taken = this.line.slice(0, most);
    if (taken.length === 0) return { lease: 0, held: [] };
    if (delayMs !== undefined) this.readyAt = this.clock.now + delayMs;
    const lease = ++this.leases;
    taken.forEach((entry, index) => {
      entry.attempt++;
      entry.place = { in: 'lease', lease, index, until: this.clock.now + leaseMs };
    });
    return { lease, held: taken.map(({ item, attempt }) => ({ item, attempt })) };
  }

  heldBy(lease: number): { index: number; item: string; attempt: number }[] {
    return this.entries.flatMap(({ item, attempt, place }) =>
      place.in === 'lease' && place.lease === lease && place.until > this.clock.now
        ? [{ index: place.index, item, attempt }]
        : [],
    );
  }

  /** The entry that a lease certainly holds. */
  at(lease: number, index: number): Entry | undefined {
    return this.entries.find(({ place }) => {
      return (
        place.in === 'lease' && place.lease === lease && place.index === index && place.until > this.clock.now
      );
    });
  }

  /** Whether the entry was forgotten. It may already be gone, and its lease over. */
  isForgotten(lease: number, index: number): boolean {
    return this.forgotten.has(`${lease} ${index}`);
  }

  /** The dead letter with this number. */
  letter(number: number): Entry | undefined {
    return this.entries.find(({ place }) => place.in === 'dead' && place.number === number);
  }

  remove(entry: Entry): void {
    this.entries = this.entries.filter((other) => other !== entry);
  }

  /** Releases entries. Leases count as attempts if `counts` is true. */
  release(entries: readonly Entry[], delayMs: number, reason: string, counts: boolean): void {
    const delayed: Entry[] = [];
    for (const entry of entries) {
      if (counts && this.isExhausted(entry)) {
        this.die(entry, reason);
        continue;
      }
      if (!counts) entry.attempt--;
      if (delayMs > 0) delayed.push(entry);
      else this.toLine(entry);
    }
    this.delay('delay', delayed, delayMs);
  }

  putBack(entries: readonly Entry[]): void {
    for (const entry of entries) {
      entry.attempt = 0;
      this.toLine(entry);
    }
  }

  get line(): Entry[] {
    const waiting = this.entries.filter(({ place }) => place.in === 'line');
    return PRIORITIES.flatMap((level) => waiting.filter(({ priority }) => priority === level));
  }

  /** Dead letters, and entries that are due to become dead letters. */
  get dead(): { entry: Entry; surely: boolean; reason: string }[] {
    const found: { entry: Entry; surely: boolean; reason: string }[] = [];
    for (const entry of this.entries) {
      const { place } = entry;
      if (place.in === 'dead') found.push({ entry, surely: true, reason: place.reason });
      else if (place.in === 'lease' && place.until <= this.clock.now && this.isExhausted(entry))
        found.push({ entry, surely: false, reason: LEASE_ENDED });
    }
    return found;
  }

  /** Whether the only host of its entries has to wait. */
  get isPaused(): boolean {
    return this.readyAt > this.clock.now;
  }

  /** Whether a lease would find nothing now. */
  get isEmpty(): boolean {
    if (this.isPaused) return true;
    return this.entries.every(
      (entry) =>
        entry.place.in === 'dead' ||
        ('until' in entry.place && entry.place.until > this.clock.now) ||
        (entry.place.in === 'lease' && this.isExhausted(entry)),
    );
  }

  /** Its entries in the order of an export: waiting, leased, delayed, scheduled, dead letters. */
  get exported(): readonly Entry[] {
    return this.entries.toSorted((a, b) => compare(exportKey(a), exportKey(b)));
  }

  /** Queues the entries of an exported set, segment by segment. */
  restore({ exported: entries, readyAt }: QueueModel, { seed, geometry }: Filter): void {
    this.readyAt = readyAt;
    const { segment } = positionsOf(
      entries.map(({ item }) => item),
      seed,
      geometry,
    );
    const order = Array.from(entries.keys()).sort((a, b) => (segment[a] as number) - (segment[b] as number));
    for (const n of order) {
      const { item, priority, attempt, place } = entries[n] as Entry;
      const entry: Entry = { item, priority, attempt, place: { in: 'line' } };
      this.entries.push(entry);
      if (place.in === 'dead') this.die(entry, place.reason);
      if (place.in === 'schedule') this.delay('schedule', [entry], place.until - this.clock.now);
    }
  }

  /**
   * Returns due entries to the waiting ones, in the order in which they are due. If one change cannot move all, it
   * moves the first ones.
   */
  moveDue(): void {
    const due = this.entries.filter(({ place }) => 'until' in place && place.until <= this.clock.now);
    due.sort((a, b) => compare(dueKey(a), dueKey(b)));
    let moved = 0;
    let row = '';
    for (const entry of due) {
      const own = dueKey(entry).slice(0, -1).join(' ');
      if (own !== row && moved >= this.sizes.movesPerChange) break;
      row = own;
      moved++;
      if (entry.place.in === 'lease' && this.isExhausted(entry)) this.die(entry, LEASE_ENDED);
      else this.toLine(entry);
    }
  }

  /** Moves an entry to the end of the waiting entries. */
  private toLine(entry: Entry): void {
    this.remove(entry);
    entry.place = { in: 'line' };
    this.entries.push(entry);
  }

  private die(entry: Entry, reason: string): void {
    entry.place = { in: 'dead', number: ++this.letters, reason };
  }

  private isExhausted({ attempt }: Entry): boolean {
    const { maxAttempts } = this.spec;
    return maxAttempts !== undefined && attempt >= maxAttempts;
  }
}

function exportKey({ place }: Entry): number[] {
  if (place.in === 'line') return [0];
  if (place.in === 'lease') return [1, place.lease, place.index];
  if (place.in === 'dead') return [4, place.number];
  return [place.in === 'delay' ? 2 : 3, place.until, place.number, place.index];
}

/** By time, then leases first and scheduled entries last, then by numbers and places. */
function dueKey({ place }: Entry): number[] {
  if (place.in === 'lease') return [place.until, 0, place.lease, place.index];
  if (place.in !== 'delay' && place.in !== 'schedule') return [];
  return [place.until, place.in === 'delay' ? 1 : 2, place.number, place.index];
}

function compare(a: number[], b: number[]): number {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return (a[i] as number) - (b[i] as number);
  return 0;
}

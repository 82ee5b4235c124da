import { positionsOf } from '#bloom';
import type { Filter, FilterSpec } from '#store';

/** An entry of a queue and its place. */
export interface Entry {
  readonly item: string;
  attempt: number;
  place:
    | { readonly in: 'line' }
    | { readonly in: 'lease'; readonly lease: number; readonly index: number; until: number }
    | { readonly in: 'delay'; readonly number: number; readonly index: number; readonly until: number }
    | { readonly in: 'dead'; readonly number: number; readonly reason: string };
}

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
    private readonly movesPerChange: number,
  ) {}

  get now(): number {
    return this.clock.now;
  }

  push(items: readonly string[]): void {
    if (items.length === 0) return;
    this.moveDue();
    for (const item of items) this.entries.push({ item, attempt: 0, place: { in: 'line' } });
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
    const number = ++this.delays;
    for (const [index, entry] of entries.entries()) {
      if (counts && this.isExhausted(entry)) {
        this.die(entry, reason);
        continue;
      }
      if (!counts) entry.attempt--;
      if (delayMs > 0) entry.place = { in: 'delay', number, index, until: this.clock.now + delayMs };
      else this.toLine(entry);
    }
  }

  putBack(entries: readonly Entry[]): void {
    for (const entry of entries) {
      entry.attempt = 0;
      this.toLine(entry);
    }
  }

  get line(): Entry[] {
    return this.entries.filter(({ place }) => place.in === 'line');
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

  /** Its entries in the order of an export: waiting, leased, delayed, dead letters. */
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
      const { item, attempt, place } = entries[n] as Entry;
      const entry: Entry = { item, attempt, place: { in: 'line' } };
      this.entries.push(entry);
      if (place.in === 'dead') this.die(entry, place.reason);
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
      if (own !== row && moved >= this.movesPerChange) break;
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
  return place.in === 'delay' ? [2, place.until, place.number, place.index] : [3, place.number];
}

/** By time, then leases first, then by numbers and places. */
function dueKey({ place }: Entry): number[] {
  if (place.in === 'lease') return [place.until, 0, place.lease, place.index];
  return place.in === 'delay' ? [place.until, 1, place.number, place.index] : [];
}

function compare(a: number[], b: number[]): number {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return (a[i] as number) - (b[i] as number);
  return 0;
}

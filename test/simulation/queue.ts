import { positionsOf } from '#bloom';
import {
  MAX_LEASE_MS,
  PRIORITIES,
  type EntryState,
  type Filter,
  type FilterSpec,
  type HostSettings,
  type HostView,
  type Priority,
  type QueueEntry,
} from '#store';
import type { Sizes } from '../../libs/store/src/embedded/database/sizes.js';
import { compare, dueKey, exportKey, stateOf, type Delay, type Entry } from './entry.js';
import { hostOf } from './items.js';
import { Lanes, type Lane } from './lanes.js';
import { leasable, type LeaseLimits } from './lease-rules.js';

/** An entry's size without its payload and host, in bytes. */
const ENTRY_BYTES = 34;
const HOST_BYTES = 4;

const LEASE_ENDED = 'the lease ended';

const SECOND_MS = 1_000;

/** How entries are released. */
interface Release {
  readonly ms: number;
  readonly countAttempt: boolean;
  readonly hostDelayMs: number;
}

/** A visited set's queue, in arrays, with its exact order. */
export class QueueModel {
  /** Waiting entries in their order, and all others. */
  entries: Entry[] = [];
  readonly lanes: Lanes;
  /** A host's entries were dropped. The store still has some, and may count them as due. */
  hasDropped = false;
  /** Items whose scheduled entries a sync didn't keep. The store removes these entries later. */
  readonly unkept = new Set<string>();
  /** The entries that were scheduled when a sync was opened, or later, and have come due since. */
  private cameDue = new Set<Entry>();
  private births = 0;
  private lines = 0;
  private delays = 0;
  private letters = 0;
  /** Entries that were forgotten while a lease held them. */
  private readonly forgotten = new Set<string>();

  constructor(
    private readonly spec: Pick<FilterSpec, 'maxAttempts' | 'perHost'>,
    private readonly clock: { now: number },
    private readonly sizes: Sizes,
  ) {
    this.lanes = new Lanes(spec.perHost, clock, (host) => {
      const { waiting, leased } = this.countsOf(host);
      return { waiting, leased };
    });
  }

  get now(): number {
    return this.clock.now;
  }

  /** An item's host in a queue with `perHost`. */
  hostOf(item: string): string {
    return this.spec.perHost ? hostOf(item) : '';
  }

  laneOf({ item }: Pick<Entry, 'item'>): Lane {
    return this.lanes.of(this.hostOf(item));
  }

  push(items: readonly string[], priority: Priority = 'normal', delayMs = 0): void {
    if (items.length === 0) return;
    this.moveDue();
    const birth = ++this.births;
    const discoveredAt = Math.floor((this.now + delayMs) / SECOND_MS);
    const entries = items.map((item): Entry => ({
      item,
      priority,
      birth,
      discoveredAt,
      attempt: 0,
      place: this.end(),
    }));
    for (const entry of entries) this.laneOf(entry);
    this.entries.push(...entries);
    if (delayMs > 0) this.delay('schedule', entries, delayMs);
  }

  /** Takes the entries off. They come back after this time, as if never leased. */
  again(entries: readonly Entry[], afterMs: number): void {
    const discoveredAt = Math.floor((this.now + afterMs) / SECOND_MS);
    for (const entry of entries) {
      this.free(entry);
      Object.assign(entry, { attempt: 0, discoveredAt });
    }
    this.delay('schedule', entries, afterMs);
  }

  /** Removes an entry under its lease. */
  settle(entry: Entry): void {
    this.free(entry);
    this.remove(entry);
  }

  /** Call it when a sync is opened. */
  openSync(): void {
    this.cameDue = new Set();
  }

  /** Removes the scheduled entries, and those that came due during the sync, whose items aren't kept. */
  dropUnkept(isKept: (item: string) => boolean): void {
    this.void(this.entries.filter((entry) => this.cameDue.has(entry) && !isKept(entry.item)));
    const unkept = this.entries.filter(({ item, place }) => place.in === 'schedule' && !isKept(item));
    for (const entry of unkept) {
      this.unkept.add(entry.item);
      this.laneOf(entry).isVague = true;
    }
    this.entries = this.entries.filter((entry) => !unkept.includes(entry));
  }

  /**
   * Delays entries. Entries that come back at the same time share rows, and a row limits how many entries one change
   * moves.
   */
  private delay(place: Delay, entries: readonly Entry[], ms: number): void {
    let [number, bytes] = [++this.delays, 0];
    for (const [index, entry] of entries.entries()) {
      const own = ENTRY_BYTES + (this.spec.perHost ? HOST_BYTES : 0) + Buffer.byteLength(entry.item);
      if (bytes > 0 && bytes + own > this.sizes.rowBytes) [number, bytes] = [++this.delays, 0];
      bytes += own;
      entry.place = { in: place, number, index, until: this.now + ms };
    }
  }

  forget(items: readonly string[]): void {
    this.void(this.entries.filter(({ item }) => items.includes(item)));
  }

  drop(entry: Entry): void {
    this.void([entry]);
  }

  /** Drops a host's entries. Returns the smallest and the largest number that the store may count. */
  dropHost(host: string): { least: number; most: number } {
    const lane = this.lanes.of(host);
    const dropped = this.entries.filter(({ item }) => this.hostOf(item) === host);
    const { isVague } = lane;
    this.void(dropped);
    this.hasDropped = true;
    // Only leased entries still count, towards maxLeased. Those that were forgotten earlier may have delayed the host.
    lane.isVague = Math.max(lane.vagueUntil, lane.mayWaitUntil) > this.now;
    return { least: dropped.length, most: isVague ? Infinity : dropped.length };
  }

  /** The store notes that entries are void, and removes them later. */
  private void(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const { place } = entry;
      const lane = this.laneOf(entry);
      lane.isVague = true;
      if (place.in !== 'lease') continue;
      this.forgotten.add(`${place.lease} ${place.index}`);
      const { delayMs = 0 } = this.lanes.limits(lane);
      lane.vagueUntil = Math.max(lane.vagueUntil, place.until + delayMs);
    }
    this.entries = this.entries.filter((entry) => !entries.includes(entry));
  }

  /** Leases these items' entries. Throws Violation if a lease may not take them. */
  lease(
    { ms, ...limits }: LeaseLimits & { readonly ms: number },
    lease: number,
    items: readonly string[],
  ): { item: string; attempt: number }[] {
    this.moveDue();
    const taken = leasable(this, limits, items);
    for (const lane of new Set(taken.map((entry) => this.laneOf(entry)))) this.lanes.served(lane);
    taken.forEach((entry, index) => {
      entry.attempt++;
      entry.place = { in: 'lease', lease, index, until: this.now + ms };
    });
    return taken.map(({ item, attempt }) => ({ item, attempt }));
  }

  heldBy(lease: number): { index: number; item: string; attempt: number }[] {
    const held = this.entries.flatMap(({ item, attempt, place }) =>
      place.in === 'lease' && place.lease === lease && place.until > this.now
        ? [{ index: place.index, item, attempt }]
        : [],
    );
    return held.sort((a, b) => a.index - b.index);
  }

  /** The entry that a lease certainly holds. */
  at(lease: number, index: number): Entry | undefined {
    return this.entries.find(({ place }) => {
      return place.in === 'lease' && place.lease === lease && place.index === index && place.until > this.now;
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
  release(
    entries: readonly Entry[],
    { ms, countAttempt: counts, hostDelayMs }: Release,
    reason: string,
  ): void {
    const delayed: Entry[] = [];
    for (const entry of entries) {
      this.free(entry);
      if (hostDelayMs > 0) this.lanes.delay(this.laneOf(entry), this.now + hostDelayMs);
      if (counts && this.isExhausted(entry)) {
        this.die(entry, reason);
        continue;
      }
      if (!counts) entry.attempt--;
      if (ms > 0) delayed.push(entry);
      else this.toLine(entry);
    }
    this.delay('delay', delayed, ms);
  }

  /** Releases a forgotten entry, which delays its host if it is still stored. */
  releaseForgotten(item: string, hostDelayMs: number): void {
    if (hostDelayMs === 0) return;
    const lane = this.laneOf({ item });
    lane.isVague = true;
    lane.mayWaitUntil = Math.max(lane.mayWaitUntil, this.now + hostDelayMs);
  }

  putBack(entries: readonly Entry[]): void {
    for (const entry of entries) {
      entry.attempt = 0;
      this.toLine(entry);
    }
  }

  setHost(host: string, settings: HostSettings): void {
    this.moveDue();
    this.lanes.set(this.lanes.of(host), settings);
  }

  /**
   * A host as the store shows it: due entries count as waiting, even without more attempts. `found` is the number of
   * its URLs.
   */
  view(host: string, found: number): HostView | undefined {
    const moved = this.moved({ ...this.spec, maxAttempts: Infinity });
    const { own, blockedUntil, turnAt } = moved.lanes.of(host);
    const isBlocked = blockedUntil > this.now;
    const hasOwn = Object.keys(own).length > 0;
    const counts = moved.countsOf(host);
    const held = Object.values(counts).some((count) => count > 0);
    if (!held && found === 0 && !hasOwn && !isBlocked) return undefined;
    return {
      ...{ name: host, ...counts },
      ...(this.spec.perHost?.maxUrls !== undefined && { found }),
      ...(turnAt !== undefined && { nextAt: turnAt }),
      ...(isBlocked && { blockedUntil }),
      ...(hasOwn && { own }),
    };
  }

  countsOf(host: string): Record<EntryState, number> {
    const counts = { waiting: 0, leased: 0, delayed: 0, scheduled: 0, dead: 0 };
    for (const entry of this.entries) if (this.hostOf(entry.item) === host) counts[stateOf(entry)]++;
    return counts;
  }

  /** How many entries each state has, with due ones counted as waiting. */
  get states(): Record<EntryState, number> {
    const counts = { waiting: 0, leased: 0, delayed: 0, scheduled: 0, dead: 0 };
    for (const entry of this.entries) {
      counts[this.isDue(entry) ? 'waiting' : stateOf(entry)]++;
    }
    return counts;
  }

  /** An entry's state in a list: the one that the next lease would find it in. */
  stateNow(entry: Entry): Pick<QueueEntry, 'state' | 'dueAt' | 'reason'> {
    const { place } = entry;
    if (place.in === 'dead') return { state: 'dead', reason: place.reason };
    if (!('until' in place)) return { state: 'waiting' };
    if (!this.isDue(entry)) return { state: stateOf(entry), dueAt: place.until };
    const dies = place.in === 'lease' && this.isExhausted(entry);
    return dies ? { state: 'dead', reason: LEASE_ENDED } : { state: 'waiting' };
  }

  private isDue(entry: Entry): boolean {
    const { place } = entry;
    return 'until' in place && (place.until <= this.now || this.isTooFarAhead(entry));
  }

  /** Whether an entry's lease or delay ends so late that the clock must have been set back since it began. */
  isTooFarAhead({ place }: Entry): boolean {
    return 'until' in place && place.in !== 'schedule' && place.until > this.now + MAX_LEASE_MS;
  }

  /** Waiting entries in the order in which they are leased, apart from the turns of hosts. */
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
      else if (place.in === 'lease' && this.isDue(entry) && this.isExhausted(entry))
        found.push({ entry, surely: false, reason: LEASE_ENDED });
    }
    return found;
  }

  /** Whether a lease may find nothing now. */
  get isEmpty(): boolean {
    const moved = this.moved(this.spec);
    return moved.lanes.all.every((lane) => {
      const { waiting, leased } = moved.countsOf(lane.host);
      return waiting === 0 || moved.lanes.room(lane, leased, 1) === 0 || moved.lanes.isUnsure(lane);
    });
  }

  /** A copy in which all due entries have moved. */
  private moved(spec: Pick<FilterSpec, 'maxAttempts' | 'perHost'>): QueueModel {
    const moved = new QueueModel(spec, this.clock, { ...this.sizes, movesPerChange: Infinity });
    moved.take(this);
    moved.moveDue();
    return moved;
  }

  private take({ entries, lanes }: QueueModel): void {
    this.entries = entries.map((entry) => ({ ...entry }));
    for (const lane of lanes.all) Object.assign(this.lanes.of(lane.host), lane);
  }

  /** The entries in an export's order: waiting, leased, delayed, scheduled, dead letters. */
  get exported(): readonly Entry[] {
    return this.entries.toSorted((a, b) => compare(exportKey(a), exportKey(b)));
  }

  /** Queues an exported set's entries, segment by segment. */
  restore({ exported: entries, lanes }: QueueModel, { seed, geometry }: Filter): void {
    const { segment } = positionsOf(
      entries.map(({ item }) => item),
      seed,
      geometry,
    );
    const order = Array.from(entries.keys()).sort((a, b) => (segment[a] as number) - (segment[b] as number));
    for (const n of order) {
      const { place, ...rest } = entries[n] as Entry;
      const entry: Entry = { ...rest, birth: 1, place: this.end() };
      this.laneOf(entry);
      this.entries.push(entry);
      if (place.in === 'dead') this.die(entry, place.reason);
      if (place.in === 'schedule') this.delay('schedule', [entry], place.until - this.now);
    }
    this.births = Math.min(1, entries.length);
    this.lanes.place();
    this.lanes.restore(lanes);
  }

  /**
   * Returns due entries to the waiting ones, in the order in which they are due. If one change can't move them all, it
   * moves the first ones.
   */
  moveDue(): void {
    const due = this.entries.filter((entry) => this.isDue(entry));
    due.sort((a, b) => compare(dueKey(a), dueKey(b)));
    let moved = 0;
    let row = '';
    for (const entry of due) {
      const own = dueKey(entry).slice(0, -1).join(' ');
      if (own !== row && moved >= this.sizes.movesPerChange) break;
      row = own;
      moved++;
      const { place } = entry;
      const at = Math.min(dueKey(entry)[0] as number, this.now);
      if (place.in === 'schedule') this.cameDue.add(entry);
      if (place.in === 'lease') this.free(entry, at);
      if (place.in === 'lease' && this.isExhausted(entry)) this.die(entry, LEASE_ENDED);
      else {
        this.lanes.came(this.laneOf(entry), at);
        this.toLine(entry);
      }
    }
    if (moved > 0) this.lanes.place();
  }

  /** An entry's lease ended at this time. */
  private free(entry: Entry, at = this.now): void {
    this.lanes.freed(this.laneOf(entry), at);
  }

  /** Moves an entry to the end of the waiting entries. */
  private toLine(entry: Entry): void {
    this.remove(entry);
    entry.place = this.end();
    this.entries.push(entry);
  }

  private end(): Entry['place'] {
    return { in: 'line', number: ++this.lines };
  }

  private die(entry: Entry, reason: string): void {
    entry.place = { in: 'dead', number: ++this.letters, reason };
  }

  private isExhausted({ attempt }: Entry): boolean {
    const { maxAttempts } = this.spec;
    return maxAttempts !== undefined && attempt >= maxAttempts;
  }
}

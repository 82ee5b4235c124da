import {
  Added,
  LEASE_ENDED,
  MAX_LEASED_ENTRIES,
  RELEASED,
  Settled,
  type DeadLetterPage,
  type LeasedEntry,
  type LeaseLimits,
  type Queued,
  type QueuedHost,
  type QueuedItem,
  type Release,
} from '../../port/index.js';
import { hostWords, type Positions } from '#bloom';
import { noteCameDue, notesCameDue } from '../filters/came-due.js';
import type { FilterState } from '../filters/filter-state.js';
import { numberedKey } from '../database/keys.js';
import { DamagedRow, RowState } from '../database/table.js';
import { Basket } from './basket.js';
import { DeadLetters, isExhausted } from './dead-letters.js';
import { cameDueAt, DueIndex, DueKind, stateOf, type DelayedState, type Due } from './due.js';
import { idOf, isOf, namedBy } from './entry-ids.js';
import { entriesOf, EntryPacker, levelOf, type Entry, type EntryChange } from './entry.js';
import { HostLanes, knowsHosts } from './host-lanes.js';
import { limited } from './limited.js';
import { onlyLane } from './lane.js';
import { LaneLogs } from './lane-logs.js';
import { Leases, type HeldEntry } from './leases.js';
import { isUnkept, type SweptStore } from './sweep-queue.js';
import { VoidEntries } from './void-entries.js';

const packer = new EntryPacker();

/** An entry's hash. In sets with `perHost`, also its host, or the second word of the host's hash. */
export type TakenEntry = Pick<QueuedItem, 'hash' | 'host'> & { readonly hostWord?: number };

/** A batch's new items. */
export interface NewItems extends Omit<Queued, 'payloads'> {
  readonly positions: Pick<Positions, 'hash' | 'host'>;
  readonly payloads: readonly string[];
}

/** The result of one transaction in a lease. */
export interface Lease {
  /** Number of the lease, or 0 if it found no entry. */
  readonly number: number;
  readonly entries: LeasedEntry[];
  /** True if it found no entry, but has more to check. */
  readonly more: boolean;
}

/**
 * A visited set's queue. An entry is in one place: in a log (log.ts), held by a lease (leases.ts), delayed or scheduled
 * (due.ts), or a dead letter (dead-letters.ts). Whenever an entry moves, the queue checks whether it was forgotten
 * (filters/marks.ts). Use it inside a transaction, and call `flush` at the end.
 */
export class TodoQueue {
  /** Undefined without `perHost`. */
  private readonly lanes: HostLanes | undefined;
  private readonly log: LaneLogs | HostLanes;
  private readonly due: DueIndex;
  private readonly leases: Leases;
  private readonly letters: DeadLetters;
  /** The entries that were dropped and, with `collects`, those that were acknowledged or purged. */
  readonly taken: TakenEntry[] = [];

  constructor(
    private readonly session: SweptStore,
    private readonly state: FilterState,
    private readonly collects = false,
  ) {
    const { database, memory } = session;
    this.lanes = knowsHosts(state) ? new HostLanes(session, state) : undefined;
    this.log = this.lanes ?? new LaneLogs(database, onlyLane(state), memory.headRows);
    this.due = new DueIndex(database, state);
    this.leases = new Leases(database, state, this.due, this.lanes);
    this.letters = new DeadLetters(database, state, this.lanes);
  }

  /**
   * Returns Added.Limited for a batch's items that would exceed a per-host queue's limits, except for `present` items.
   * Undefined if no item exceeds a limit. Changes nothing.
   */
  limited(positions: Positions, present: () => Uint8Array): Uint8Array | undefined {
    return this.lanes && limited(this.lanes, positions, present);
  }

  /** Queues a batch's new items. */
  push({ positions, payloads, hosts, ...how }: NewItems, answers: Uint8Array, now: number): void {
    if (!answers.includes(Added.New)) return;
    this.moveDue(now);
    const at = now + Math.ceil(how.delayMs ?? 0);
    const birth = ++this.state.queue.clock;
    const made = { birth, discoveredAt: Math.floor(at / 1000), level: levelOf(how.priority) };
    const rows = at > now ? this.due.rows('scheduled', at) : undefined;
    for (let i = 0; i < answers.length; i++) {
      if (answers[i] !== Added.New) continue;
      const host = hosts && { words: positions.host as Uint32Array, at: 2 * i, name: hosts[i] as string };
      const payload = payloads[i] as string;
      if (!rows) {
        this.log.appendNew(positions.hash, i * 4, made, payload, host);
        continue;
      }
      rows.addNew(positions.hash, i * 4, made, payload, host);
      this.state.queue.scheduled++;
      if (this.lanes && host) this.lanes.discover(host).scheduled++;
    }
    rows?.flush();
  }

  /** Queues entries from an export. Each entry's hash and its host's hash begin with the same word. */
  restore(items: readonly QueuedItem[]): void {
    const birth = (this.state.queue.clock = 1);
    packer.clear();
    for (const item of items) packer.addItem(item, birth, this.lanes && this.hostWordOf(item));
    // Lanes read the entries when they are flushed.
    for (const [n, entry] of entriesOf(Buffer.from(packer.packed())).entries()) {
      const { reason, host, scheduledAt } = items[n] as QueuedItem;
      if (host !== undefined) this.lanes?.name(entry, host);
      if (reason !== undefined) this.letters.add(entry, reason);
      else if (scheduledAt === undefined) this.log.append(entry);
      else this.delay('scheduled', [entry], scheduledAt);
    }
  }

  /** Imports lanes, after their entries. */
  restoreHosts(hosts: readonly QueuedHost[]): void {
    for (const host of hosts) this.lanes?.restore(host);
  }

  /** See VoidEntries. */
  drop(ids: readonly string[]): Uint8Array {
    const { answers, names } = new VoidEntries(this.session, this.state).drop(ids);
    this.taken.push(...names);
    return answers;
  }

  /** Counts the items that the open sync's layers gained or lost. See HostLanes.keep. */
  keep(host: Uint32Array | undefined, there: Uint8Array, by: number, names?: readonly string[]): void {
    if (host) this.lanes?.keep(host, there, by, names);
  }

  /** Leases at most `max` entries until `now + leaseMs`. */
  lease(max: number, now: number, leaseMs: number, limits?: LeaseLimits): Lease {
    this.moveDue(now);
    const taken = this.take(Math.min(max, MAX_LEASED_ENTRIES), limits);
    if (taken.length === 0) {
      this.log.flush();
      return { number: 0, entries: [], more: this.log.isReady || this.due.next(now) !== undefined };
    }
    const number = this.leases.grant(taken, now + Math.ceil(leaseMs));
    const entries = taken.map((entry, index) => this.leasedEntry(number, index, entry, entry.attempt + 1));
    return { number, entries, more: false };
  }

  /** The entries that a lease still holds. */
  heldBy(lease: number, now: number): LeasedEntry[] {
    return this.leases
      .of(lease)
      .filter(({ until, entry }) => until > now && !this.isForgotten(entry))
      .map(({ index, entry }) => this.leasedEntry(lease, index, entry, entry.attempt));
  }

  /** One of Settled per id. */
  ack(ids: readonly string[], now: number, againAfterMs?: number): Uint8Array {
    const again: Entry[] = [];
    const change = (lease: number, held: HeldEntry): void => {
      this.leases.remove(lease, held);
      this.takeOff(held.entry);
      if (againAfterMs !== undefined) again.push(held.entry);
    };
    const answers = this.settle(ids, now, change, (lease, held) => this.leases.remove(lease, held));
    const at = now + Math.ceil(againAfterMs ?? 0);
    this.delay('scheduled', again, at, () => ({ attempt: 0, discoveredAt: Math.floor(at / 1000) }));
    return answers;
  }

  release(
    ids: readonly string[],
    now: number,
    { delayMs = 0, reason = '', countAttempt = true, hostDelayMs = 0 }: Partial<Release> = {},
  ): Uint8Array {
    this.moveDue(now);
    const delayed: Entry[] = [];
    // The attempt was counted when the lease began.
    const uncounted = countAttempt ? 0 : 1;
    const delayHost = (entry: Entry): void => {
      if (hostDelayMs > 0) this.lanes?.delay(entry, Math.ceil(hostDelayMs));
    };
    const change = (lease: number, held: HeldEntry): void => {
      this.leases.remove(lease, held);
      if (countAttempt && this.isExhausted(held.entry)) this.letters.add(held.entry, reason || RELEASED);
      else if (delayMs > 0) delayed.push(held.entry);
      else this.log.append(held.entry, { attempt: held.entry.attempt - uncounted });
      delayHost(held.entry);
    };
    const answers = this.settle(ids, now, change, (lease, held) => {
      this.leases.remove(lease, held);
      delayHost(held.entry);
    });
    const at = now + Math.ceil(delayMs);
    this.delay('delayed', delayed, at, ({ attempt }) => ({ attempt: attempt - uncounted }));
    return answers;
  }

  extend(ids: readonly string[], now: number, leaseMs: number): Uint8Array {
    const until = now + Math.ceil(leaseMs);
    // Forgotten and dropped entries stay in their leases, because workers still fetch their URLs.
    return this.settle(ids, now, (lease, held) => this.leases.extend(lease, held, until));
  }

  /** Dead letters after this number. */
  deadLetters(limit: number, after: number): DeadLetterPage {
    return this.letters.page(limit, after, (entry) => !this.isForgotten(entry));
  }

  putBack(ids: readonly string[], now: number): Uint8Array {
    this.moveDue(now);
    return this.takeLetters(ids, (entry) => this.log.append(entry, { attempt: 0 }));
  }

  purge(ids: readonly string[]): Uint8Array {
    return this.takeLetters(ids, (entry) => this.takeOff(entry));
  }

  /** Writes pending changes. Drops all marks if the queue has no entries that they could void. */
  flush(): void {
    this.log.flush();
    this.leases.flush();
    const { queue } = this.state;
    if (queue.held > 0 || queue.marks.size === 0) return;
    queue.marks.clear();
    queue.firstMark = queue.nextMark;
    this.session.purger.marks(this.state);
  }

  /** Moves entries whose lease or delay has ended. Queues them before the entries that the current change adds. */
  moveDue(now: number): void {
    const { queue } = this.state;
    // A per-host queue may still store dropped entries, which don't count.
    if (queue.leased + queue.delayed + queue.scheduled === 0 && !this.lanes) return;
    const { movesPerChange, hostsPerChange } = this.session.database.sizes;
    const most = this.lanes ? Math.min(movesPerChange, hostsPerChange) : movesPerChange;
    const cameDue: Entry[] = [];
    let moved = 0;
    for (let due = this.due.next(now); due && moved < most; due = this.due.next(now))
      moved += due.kind === DueKind.LeaseEnd ? this.endLease(due) : this.endDelay(due, cameDue);
    noteCameDue(this.session.database, this.state, cameDue);
    this.log.flush();
  }

  /** Returns how many entries it moves. */
  private endLease(due: Due): number {
    const ended = this.leases.of(due.number).filter(({ until }) => until === due.at);
    if (ended.length !== due.value.readUInt32BE()) throw this.damaged('leases', due.number);
    for (const held of ended) {
      this.leases.remove(due.number, held);
      if (this.isForgotten(held.entry)) continue;
      if (this.isExhausted(held.entry)) this.letters.add(held.entry, LEASE_ENDED);
      else this.bringBack(held.entry, due);
    }
    this.leases.flush();
    return ended.length;
  }

  /** Entries come back at `at`, in ms since the epoch. */
  private delay(
    state: DelayedState,
    entries: readonly Entry[],
    at: number,
    change?: (entry: Entry) => EntryChange,
  ): void {
    if (entries.length === 0) return;
    const rows = this.due.rows(state, at);
    for (const entry of entries) {
      rows.add(entry, change?.(entry));
      this.lanes?.count(entry, state, 1);
    }
    rows.flush();
    this.state.queue[state] += entries.length;
  }

  /** Returns how many entries it moves. Adds the entries that an open sync must note to `cameDue`. */
  private endDelay(due: Due, cameDue: Entry[]): number {
    this.due.remove(due);
    const entries = entriesOf(due.value);
    const state = stateOf(due);
    const noted = state === 'scheduled' && notesCameDue(this.state, due.number);
    for (const entry of entries) {
      if (this.lanes?.dismiss(entry)) continue;
      this.state.queue[state]--;
      this.lanes?.count(entry, state, -1);
      if (state === 'scheduled' && isUnkept(this.session, this.state, entry)) continue;
      if (this.isForgotten(entry)) continue;
      this.bringBack(entry, due);
      if (noted) cameDue.push(entry);
    }
    return entries.length;
  }

  private bringBack(entry: Entry, due: Due): void {
    this.lanes?.cameDue(entry, cameDueAt(due));
    this.log.append(entry);
  }

  /** Takes entries off the heads of the lanes, within the limits of one lease. */
  private take(max: number, { maxPerHost }: LeaseLimits = {}): Entry[] {
    const maxSkips = this.session.database.sizes.skipsPerLease;
    const isForgotten = (entry: Entry): boolean => this.isForgotten(entry);
    const basket = new Basket({ max, maxSkips, isForgotten });
    this.log.take(basket, maxPerHost);
    return basket.entries;
  }

  private settle(
    ids: readonly string[],
    now: number,
    change: (lease: number, held: HeldEntry) => void,
    /** Gets entries that were forgotten or dropped. */
    forgotten: (lease: number, held: HeldEntry) => void = () => undefined,
  ): Uint8Array {
    const { filter, queue } = this.state;
    return Uint8Array.from(ids, (id) => {
      const named = namedBy(id, 'lease', queue.nextLease, filter);
      if (!named) return Settled.Unknown;
      const { number, index } = named;
      const held = this.leases.at(number, index);
      if (!held) return Settled.Expired;
      if (!isOf(named, held.entry, filter)) return Settled.Unknown;
      if (this.isForgotten(held.entry)) {
        forgotten(number, held);
        return Settled.Unknown;
      }
      if (held.until <= now) return Settled.Expired;
      change(number, held);
      return Settled.Done;
    });
  }

  private takeLetters(ids: readonly string[], take: (entry: Entry) => void): Uint8Array {
    const { filter, queue } = this.state;
    return Uint8Array.from(ids, (id) => {
      const named = namedBy(id, 'dead-letter', queue.nextDead, filter);
      const letter = named && this.letters.get(named.number);
      if (!letter || !isOf(named, letter.entry, filter)) return Settled.Unknown;
      this.letters.remove(letter);
      if (this.isForgotten(letter.entry)) return Settled.Unknown;
      take(letter.entry);
      return Settled.Done;
    });
  }

  private hostWordOf({ host = '' }: QueuedItem): number {
    return hostWords(host, this.state.filter.seed)[1] as number;
  }

  private takeOff(entry: Entry): void {
    if (!this.collects) return;
    const { hash } = entry;
    this.taken.push(this.lanes ? { hash, host: this.lanes.nameOf(entry) } : { hash });
  }

  private leasedEntry(number: number, index: number, entry: Entry, attempt: number): LeasedEntry {
    const id = idOf('lease', number, index, entry, this.state.filter);
    return { id, payload: entry.text, attempt };
  }

  private isForgotten(entry: Entry): boolean {
    return this.state.queue.marks.cover(entry) || (this.lanes?.isDropped(entry) ?? false);
  }

  private isExhausted(entry: Entry): boolean {
    return isExhausted(entry, this.state.filter);
  }

  private damaged(table: 'leases', number: number): DamagedRow {
    const { name } = this.session.database[table];
    return new DamagedRow(name, numberedKey(this.state.key, number), RowState.ValueDamaged);
  }
}

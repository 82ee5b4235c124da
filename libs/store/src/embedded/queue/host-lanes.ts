import { hostWords } from '#bloom';
import {
  MAX_LEASE_MS,
  Removed,
  type Filter,
  type HostSettings,
  type HostView,
  type PerHost,
  type QueuedHost,
} from '../../port/index.js';
import type { FilterState } from '../filters/filter-state.js';
import type { Basket } from './basket.js';
import type { Entry, EntryChange, NewEntry } from './entry.js';
import { HELD_STATES, periodAt, type HeldState, type HostLane } from './host-lane.js';
import { hostViewOf } from './host-view.js';
import { LaneRecords, type LaneStore } from './lane-records.js';
import type { HostOf } from './log.js';
import { Turns, type Turn } from './turns.js';

/** State of a set with `perHost`. */
export type HostState = FilterState & { readonly filter: Filter & { readonly perHost: PerHost } };

export const knowsHosts = (state: FilterState): state is HostState => state.filter.perHost !== undefined;

/** How many turns to read at a time. */
const PAGE = 16;

/**
 * The waiting entries of a per-host queue: one lane per host.
 *
 * A lane is in the index of turns (turns.ts) while it has waiting entries and fewer than `maxLeased` entries in
 * progress. An empty lane stays in the index until its host is due. Otherwise, the host's new entries could be leased
 * too soon. Then its record is deleted, unless it has counts.
 *
 * Use it inside a transaction, and flush it at the end.
 */
export class HostLanes {
  private readonly turns: Turns;
  private readonly records: LaneRecords;
  private readonly used = new Set<HostLane>();
  /** The clock, and the queue's time. */
  private readonly clock: number;
  private readonly time: number;

  constructor(
    private readonly store: LaneStore,
    private readonly state: HostState,
  ) {
    this.turns = new Turns(store.database, state.key);
    this.records = new LaneRecords(store, state);
    this.clock = Math.floor(store.memory.clock.now());
    this.time = state.queue.timeAt(this.clock);
  }

  private get perHost(): PerHost {
    return this.state.filter.perHost;
  }

  append(entry: Entry, change?: EntryChange): void {
    this.use(this.ofEntry(entry)).pending.push((logs) => logs.append(entry, change));
  }

  /** See EntryPacker.addNew. */
  appendNew(hashes: Uint32Array, word: number, made: NewEntry, payload: string, host?: HostOf): void {
    const lane = this.discover(host as HostOf);
    lane.pending.push((logs) => logs.appendNew(hashes, word, made, payload, host));
  }

  /** Counts a discovery. Returns its host's lane. */
  discover({ words, at, name }: HostOf): HostLane {
    const lane = this.use(this.records.of(words[at] as number, words[at + 1] as number));
    lane.name ||= name;
    if (this.perHost.maxUrls !== undefined) lane.found = this.foundIn(lane) + 1;
    return lane;
  }

  /** Names an entry's lane. */
  name(entry: Entry, host: string): void {
    this.use(this.ofEntry(entry)).name ||= host;
  }

  /** Imports a lane, after its entries. No host waits longer than the maximum delay. */
  restore({ name, readyAt, found, foundUntil, blockedUntil = 0, own = {} }: QueuedHost): void {
    const [first = 0, second = 0] = hostWords(name, this.state.filter.seed);
    const lane = this.use(this.records.of(first, second));
    lane.name = name;
    const at = Math.min(readyAt, this.clock + MAX_LEASE_MS) + this.time - this.clock;
    if (lane.waiting > 0) this.setTurn(lane, Math.max(at, 1));
    lane.readyAt = at;
    lane.blockedUntil = blockedUntil;
    lane.own = own;
    const counts = this.perHost.maxUrls !== undefined && (foundUntil === 0 || foundUntil > this.clock);
    // Sets the period.
    this.foundIn(lane);
    lane.found = counts ? found : 0;
  }

  /** The lane with this id. */
  of(first: number, second: number): HostLane {
    return this.records.of(first, second);
  }

  /** See LaneRecords. */
  page(start: Buffer, limit: number): HostLane[] {
    return this.records.page(start, limit);
  }

  view(lane: HostLane): HostView | undefined {
    const { clock, time, perHost } = this;
    const period = perHost.maxUrls === undefined ? undefined : periodAt(this.state.filter, time);
    return hostViewOf(lane, { clock, ahead: time - clock, period });
  }

  /** Replaces a lane's settings. */
  settle(lane: HostLane, { own = {}, blockedUntil = 0 }: HostSettings): void {
    this.use(lane).own = own;
    lane.blockedUntil = blockedUntil;
    const { delayMs = 0 } = lane.limits(this.perHost);
    lane.readyAt = Math.min(lane.readyAt, this.time + delayMs);
    // Its turn may be sooner now.
    if (lane.waiting > 0 && lane.dueAt > this.time) this.setTurn(lane, 0);
  }

  drop(lane: HostLane): void {
    const { queue } = this.state;
    const dropped = this.use(lane).drop(queue.clock);
    for (const state of HELD_STATES) queue[state] -= dropped[state];
    this.records.forgetHeads(lane);
  }

  /** See LaneRecords. */
  deleteDropped(lane: HostLane): void {
    this.records.deleteDropped(this.use(lane));
  }

  /** Reads the entry's lane only if dropped hosts may have left entries. */
  isDropped(entry: Entry): boolean {
    return this.state.queue.unsweptDrops > 0 && entry.birth <= this.ofEntry(entry).dropped;
  }

  /** Returns true if the entry was dropped, and no longer counts it as stored. For leased entries, see `freed`. */
  dismiss(entry: Entry): boolean {
    if (!this.isDropped(entry)) return false;
    this.use(this.ofEntry(entry)).voided--;
    return true;
  }

  /** Adds an entry to its host's count for a state, or subtracts it. */
  count(entry: Entry, state: HeldState, by: number): void {
    this.use(this.ofEntry(entry))[state] += by;
  }

  /**
   * Counts that an entry has left its lease, at `until` (ms since the epoch) or now, whichever is earlier. Returns
   * false if the entry was dropped, because the queue no longer counts it as leased.
   */
  freed(entry: Entry, until: number): boolean {
    return this.free(this.use(this.ofEntry(entry)), entry, until);
  }

  private free(lane: HostLane, entry: Entry, until: number): boolean {
    const { delayMs = 0, maxLeased = Infinity } = lane.limits(this.perHost);
    const isDropped = this.isDropped(entry);
    if (lane.inProgress >= maxLeased) lane.freedAt = this.timeAt(until);
    lane[isDropped ? 'droppedLeased' : 'leased']--;
    if (maxLeased === 1) this.wait(lane, this.timeAt(until) + delayMs);
    return !isDropped;
  }

  /** Notes that the entry came due at `at`, in ms since the epoch. Call it before the entry is appended. */
  cameDue(entry: Entry, at: number): void {
    this.came(this.use(this.ofEntry(entry)), at);
  }

  private came(lane: HostLane, at: number): void {
    if (lane.storedWaiting === 0) lane.cameAt = Math.min(lane.cameAt ?? Infinity, this.timeAt(at));
  }

  /** Converts a clock time to the queue's time, but to no later than the present. */
  private timeAt(at: number): number {
    return this.time - Math.max(0, this.clock - at);
  }

  /**
   * If the entry's lane has been read, counts the due entry as waiting. `until`: when it came due. The entry doesn't
   * move, so don't flush after this.
   */
  countDue(entry: Entry, state: Exclude<HeldState, 'dead'>, until: number): void {
    const lane = this.records.loaded(entry.word(0), entry.hostWord);
    if (!lane) return;
    const counts = state === 'leased' ? this.free(lane, entry, until) : !this.isDropped(entry);
    if (counts && state !== 'leased') lane[state]--;
    if (counts) {
      this.came(lane, until);
      lane.logs[0].waiting++;
    }
    lane.dueAt = this.turnAt(lane);
  }

  /** Delays the entry's host by `ms`: until then, its entries can't be leased. */
  delay(entry: Entry, ms: number): void {
    this.wait(this.use(this.ofEntry(entry)), this.time + ms);
  }

  /** Counts a batch's removed items. `hosts`: two words of each host's hash. Flushes. */
  forget(hosts: Uint32Array, answers: Uint8Array): void {
    if (this.perHost.maxUrls === undefined) return;
    for (const [i, answer] of answers.entries()) {
      if (answer !== Removed.Removed) continue;
      const lane = this.records.of(hosts[2 * i] as number, hosts[2 * i + 1] as number);
      const found = this.foundIn(lane);
      if (found > 0) this.use(lane).found = found - 1;
    }
    this.flush();
  }

  /**
   * Counts the items with 1 in `there`. The open sync's layers have gained (`by`: 1) or lost (-1) them. `names`: their
   * hosts' names. Without names, or once the queue has the maximum number of hosts, counts only hosts with a lane.
   * Flushes.
   */
  keep(hosts: Uint32Array, there: Uint8Array, by: number, names?: readonly string[]): void {
    const { sync } = this.state;
    if (this.perHost.maxUrls === undefined || !sync) return;
    let room = names && by > 0 ? this.room.hosts : 0;
    for (const [i, one] of there.entries()) {
      if (one !== 1) continue;
      const lane = this.records.of(hosts[2 * i] as number, hosts[2 * i + 1] as number);
      if (!lane.stored && !this.used.has(lane) && room-- <= 0) continue;
      lane.name ||= names?.[i] ?? '';
      // First updates lane.found from the count that an earlier sync kept.
      this.foundIn(lane);
      this.use(lane).keep(sync.opened.base, by);
    }
    this.flush();
  }

  /** Rewrites a lane, or deletes it if all of its counts are zero. */
  renew(lane: HostLane): void {
    this.use(lane);
  }

  nameOf(entry: Entry): string {
    return this.ofEntry(entry).name;
  }

  /** How many more hosts the queue may have, and whether hosts have a limit on URLs. */
  get room(): { readonly hosts: number; readonly limitsUrls: boolean } {
    const { maxHosts } = this.store.database.sizes;
    return { hosts: maxHosts - this.state.queue.lanes, limitsUrls: this.perHost.maxUrls !== undefined };
  }

  /** How many more URLs a host may have, and whether it has a lane. */
  roomOf(first: number, second: number): { readonly urls: number; readonly stored: boolean } {
    const lane = this.records.of(first, second);
    const { maxUrls = Infinity } = lane.limits(this.perHost);
    return { urls: maxUrls - this.foundIn(lane), stored: lane.stored };
  }

  /**
   * Fills a basket from the lanes that are due, in the order of their turns, with at most `most` entries from each.
   * Flushes first.
   */
  take(basket: Basket, most?: number): void {
    this.flush();
    let left = this.store.database.sizes.lanesPerLease;
    for (let page = this.due(left); page.length > 0; page = this.due(left, page.at(-1))) {
      for (const turn of page) {
        left--;
        this.takeFrom(this.use(this.records.at(turn)), basket, most);
        if (basket.isFull) return;
      }
    }
  }

  private takeFrom(lane: HostLane, basket: Basket, most: number | undefined): void {
    // If the clock was set back, the host is still blocked.
    if (this.readyOf(lane) > this.time) return;
    const { maxLeased = Infinity, delayMs = 0 } = lane.limits(this.perHost);
    const ofLane = most ?? (delayMs > 0 ? 1 : Infinity);
    const taken = basket.fill(this.records.logsOf(lane), Math.min(ofLane, maxLeased - lane.inProgress));
    if (taken === 0) return;
    lane.served = true;
    this.wait(lane, this.time + delayMs);
  }

  /** True if a lane is due. Flush first. */
  get isReady(): boolean {
    return this.due(1).length > 0;
  }

  /** See LaneLogs. */
  sweep(lane: HostLane, place: number, lives: (entry: Entry) => boolean): number | undefined {
    return this.records.logsOf(this.use(lane)).sweep(place, lives);
  }

  /** The first lane whose key is `start` or higher. */
  from(start: Buffer): HostLane | undefined {
    return this.records.from(start);
  }

  /** Writes the appended entries, and the records and turns of lanes in use. */
  flush(): void {
    for (const lane of this.used) {
      if (lane.pending.length > 0) {
        const logs = this.records.logsOf(lane);
        for (const append of lane.pending.splice(0)) append(logs);
        logs.flush();
      }
      this.place(lane);
      this.save(lane);
    }
    this.used.clear();
  }

  private due(limit: number, after?: Turn): Turn[] {
    if (limit <= 0) return [];
    const turns = this.turns.from(0, Math.min(limit, PAGE), after);
    return turns.filter(({ at }) => at <= this.time);
  }

  private wait(lane: HostLane, until: number): void {
    lane.readyAt = Math.max(lane.readyAt, until);
  }

  /** When the host is due, in the queue's time. */
  private readyOf({ readyAt, blockedUntil }: HostLane): number {
    if (blockedUntil <= this.clock) return readyAt;
    return Math.max(readyAt, blockedUntil + this.time - this.clock);
  }

  /** When the lane has its turn, or 0. */
  private turnAt(lane: HostLane): number {
    const { maxLeased = Infinity } = lane.limits(this.perHost);
    const { time } = this;
    const readyAt = this.readyOf(lane);
    if (lane.inProgress >= maxLeased) return 0;
    if (lane.waiting === 0) return Math.max(readyAt > time ? readyAt : 0, this.endOfPeriod(lane));
    // The lane has its turn no earlier than its block ends.
    const block = Math.min(lane.blockedUntil + time - this.clock, time);
    return Math.max(readyAt, this.servableAt(lane), block);
  }

  /** When the lane could have been served, ignoring its host's delay. */
  private servableAt({ storedWaiting, dueAt, cameAt, freedAt }: HostLane): number {
    if (storedWaiting === 0) return Math.max(cameAt ?? this.time, freedAt ?? 0);
    return dueAt > 0 ? dueAt : (freedAt ?? this.time);
  }

  /** Gives the lane its turn. */
  private place(lane: HostLane): void {
    const at = this.turnAt(lane);
    const { waiting, served } = lane;
    Object.assign(lane, { served: false, cameAt: undefined, freedAt: undefined });
    if (at === lane.dueAt && !served) return;
    this.setTurn(lane, at);
    if (at > 0 && waiting > 0 && !served) this.store.memory.gotTurns.add(this.state.filter);
  }

  /** `at`: 0 if the lane gets no place in the index. */
  private setTurn(lane: HostLane, at: number): void {
    if (lane.dueAt > 0) this.turns.remove(turnOf(lane));
    lane.dueAt = at;
    lane.turn = at > 0 ? this.state.queue.nextTurn++ : 0;
    if (at > 0) this.turns.add(turnOf(lane));
  }

  private save(lane: HostLane): void {
    const { sync } = this.state;
    const kept = sync ? lane.keptIn(sync.opened.base) : 0;
    const counts = lane.held > 0 || lane.dueAt > 0 || this.foundIn(lane) > 0 || kept > 0;
    this.records.save(lane, counts || lane.own !== undefined || lane.hasDropped);
  }

  private foundIn(lane: HostLane): number {
    return lane.foundIn(periodAt(this.state.filter, this.time));
  }

  /**
   * In a set that ages, when an empty lane stops counting discoveries. 0 if it counts none, or if the set doesn't age.
   */
  private endOfPeriod(lane: HostLane): number {
    return this.foundIn(lane) === 0 ? 0 : periodAt(this.state.filter, this.time).end;
  }

  /** Notes that the lane changes. */
  private use(lane: HostLane): HostLane {
    this.used.add(lane);
    return lane;
  }

  private ofEntry(entry: Entry): HostLane {
    return this.records.of(entry.word(0), entry.hostWord);
  }
}

function turnOf({ dueAt, turn, key }: HostLane): Turn {
  return { at: dueAt, number: turn, lane: key };
}

import type { Positions } from '#bloom';
import type { EntryName } from '../../entry-id.js';
import { Added, Removed, Settled } from '../../port/index.js';
import { hashesOf } from '../../queued-hashes.js';
import { numberedKey } from '../database/keys.js';
import type { FilterState } from '../filters/filter-state.js';
import { packMarks, type Born } from '../filters/marks.js';
import { EntryPlaces } from './entry-places.js';
import { HostLanes, knowsHosts } from './host-lanes.js';
import type { LaneStore } from './lane-records.js';

/** The parts of a session that void entries. */
export interface VoidSession extends LaneStore {
  /** Its sweeps remove void entries. */
  readonly sweeper: { consider(state: FilterState): void };
}

/** Voids entries, wherever they are (filters/marks.ts). Use it inside a transaction. */
export class VoidEntries {
  constructor(
    private readonly session: VoidSession,
    private readonly state: FilterState,
  ) {}

  /** Forgets a batch's removed items. */
  forget(positions: Positions, answers: Uint8Array): void {
    const { session, state } = this;
    if (knowsHosts(state) && positions.host) new HostLanes(session, state).forget(positions.host, answers);
    this.markAll(positions, answers, Removed.Removed);
  }

  /**
   * Voids the earlier entries of a batch's new items. These are scheduled entries that a sync did not keep and no sweep
   * has removed yet. Call it before the items are queued.
   */
  renew(positions: Positions, answers: Uint8Array): void {
    this.markAll(positions, answers, Added.New);
  }

  /**
   * Drops entries that are still in their places. Returns one of Settled per id, and the names of the dropped entries.
   */
  drop(ids: readonly string[]): { readonly answers: Uint8Array; readonly names: readonly EntryName[] } {
    const places = new EntryPlaces(this.session.database, this.state);
    const found = new Map<string, EntryName>();
    const answers = Uint8Array.from(ids, (id) => {
      const name = found.has(id) ? undefined : places.find(id);
      if (!name) return Settled.Unknown;
      found.set(id, name);
      return Settled.Done;
    });
    const names = [...found.values()];
    this.void(names);
    return { answers, names };
  }

  /** Voids these entries. */
  void(entries: readonly Born[]): void {
    const hashes = hashesOf(entries);
    const born = new Map<number, number[]>();
    for (const [n, { birth }] of entries.entries()) {
      const items = born.get(birth) ?? [];
      items.push(n);
      born.set(birth, items);
    }
    for (const [birth, items] of born) this.mark(birth, hashes, Uint32Array.from(items));
  }

  /** Voids the current entries of the items with this answer. */
  private markAll({ hash: hashes }: Pick<Positions, 'hash'>, answers: Uint8Array, answer: number): void {
    const { queue } = this.state;
    if (queue.held === 0) return;
    const items = new Uint32Array(answers.length);
    let count = 0;
    for (let i = 0; i < answers.length; i++) {
      if (answers[i] === answer) items[count++] = i;
    }
    if (count > 0) this.mark(queue.clock, hashes, items.subarray(0, count));
  }

  /** Voids entries of some of a batch's items, if they were created by this time of the queue's clock. */
  private mark(clock: number, hashes: Uint32Array, items: Uint32Array): void {
    const { queue, key } = this.state;
    const { marks, sizes } = this.session.database;
    queue.marks.note(clock, hashes, items);
    for (const row of packMarks(clock, hashes, items, sizes.rowBytes))
      marks.putSync(numberedKey(key, queue.nextMark++), row);
    this.session.sweeper.consider(this.state);
  }
}

import {
  Added,
  LEASE_ENDED,
  MAX_LEASED_BYTES,
  MAX_LEASED_ENTRIES,
  RELEASED,
  Removed,
  Settled,
  type DeadLetterPage,
  type LeasedEntry,
  type QueuedItem,
  type Release,
} from '../../port/index.js';
import type { FilterState } from '../filters/filter-state.js';
import { packMarks } from '../filters/marks.js';
import { numberedKey } from '../database/keys.js';
import { DamagedRow, RowState } from '../database/table.js';
import { DeadLetters } from './dead-letters.js';
import { DueIndex, DueKind, type Due } from './due.js';
import { idOf, namedBy } from './entry-ids.js';
import { entriesOf, Entry, EntryPacker } from './entry.js';
import { onlyLane } from './lane.js';
import { Leases, type HeldEntry } from './leases.js';
import { QueueLog } from './log.js';
import type { SweptStore } from './sweep-queue.js';
import type { Sweeper } from './sweeper.js';

const packer = new EntryPacker();

/** The parts of a session that a queue uses. */
interface QueueSession extends SweptStore {
  readonly sweeper: Pick<Sweeper, 'consider'>;
}

/** The result of one transaction of a lease. */
export interface Lease {
  /** Number of the lease; 0 if no entry was found. */
  readonly number: number;
  readonly entries: LeasedEntry[];
  /** No entry was found, but more entries remain to be checked. */
  readonly more: boolean;
}

/**
 * The queue of one visited set. An entry is in one place: in the log (log.ts), held by a lease (leases.ts), delayed
 * (due.ts), or a dead letter (dead-letters.ts). Whenever an entry moves, the queue checks whether it was forgotten
 * (filters/marks.ts). Use it inside a transaction, and call `flush` at the end.
 */
export class TodoQueue {
  private readonly log: QueueLog;
  private readonly due: DueIndex;
  private readonly leases: Leases;
  private readonly letters: DeadLetters;
  /** With `collects`: the entries that were acknowledged or purged. */
  readonly taken: Pick<QueuedItem, 'hash'>[] = [];

  constructor(
    private readonly session: QueueSession,
    private readonly state: FilterState,
    private readonly collects = false,
  ) {
    const { database, memory } = session;
    this.log = new QueueLog(database, onlyLane(state), memory.headRows);
    this.due = new DueIndex(database, state);
    this.leases = new Leases(database, state, this.due);
    this.letters = new DeadLetters(database, state);
  }

  /** Queues the new items of a batch. */
  push(hashes: Uint32Array, answers: Uint8Array, payloads: readonly string[], now: number): void {
    if (!answers.includes(Added.New)) return;
    this.moveDue(now);
    const birth = ++this.state.queue.clock;
    const discoveredAt = Math.floor(now / 1000);
    for (let i = 0; i < answers.length; i++) {
      if (answers[i] === Added.New)
        this.log.appendNew(hashes, i * 4, birth, discoveredAt, payloads[i] as string);
    }
  }

  /** Queues entries of an export. */
  restore(items: readonly QueuedItem[]): void {
    const birth = (this.state.queue.clock = 1);
    for (const item of items) {
      packer.clear();
      packer.addItem(item, birth);
      const entry = new Entry(packer.packed(), 0);
      if (item.reason === undefined) this.log.append(entry);
      else this.letters.add(entry, item.reason);
    }
  }

  /** Forgets the items of a batch that were removed, wherever their entries are. */
  forget(hashes: Uint32Array, answers: Uint8Array): void {
    const { queue, key } = this.state;
    if (queue.held === 0) return;
    const items = new Uint32Array(answers.length);
    let count = 0;
    for (let i = 0; i < answers.length; i++) {
      if (answers[i] === Removed.Removed) items[count++] = i;
    }
    if (count === 0) return;
    const forgotten = items.subarray(0, count);
    const { marks, sizes } = this.session.database;
    queue.marks.note(queue.clock, hashes, forgotten);
    for (const row of packMarks(queue.clock, hashes, forgotten, sizes.rowBytes))
      marks.putSync(numberedKey(key, queue.nextMark++), row);
    this.session.sweeper.consider(this.state);
  }

  /** Leases at most `max` entries until `now + leaseMs`. */
  lease(max: number, now: number, leaseMs: number): Lease {
    const { queue } = this.state;
    this.moveDue(now);
    const taken = this.take(Math.min(max, MAX_LEASED_ENTRIES));
    if (taken.length === 0) {
      return { number: 0, entries: [], more: queue.waiting > 0 || this.due.next(now) !== undefined };
    }
    const number = this.leases.grant(taken, now + Math.ceil(leaseMs));
    const entries = taken.map((entry, index) => leasedEntry(number, index, entry, entry.attempt + 1));
    return { number, entries, more: false };
  }

  /** The entries that a lease still holds. */
  heldBy(lease: number, now: number): LeasedEntry[] {
    return this.leases
      .of(lease)
      .filter(({ until, entry }) => until > now && !this.isForgotten(entry))
      .map(({ index, entry }) => leasedEntry(lease, index, entry, entry.attempt));
  }

  /** One of Settled per id. */
  ack(ids: readonly string[], now: number): Uint8Array {
    return this.settle(ids, now, (lease, held) => {
      this.leases.remove(lease, held);
      this.takeOff(held.entry);
    });
  }

  release(
    ids: readonly string[],
    now: number,
    { delayMs = 0, reason = '', countAttempt = true }: Partial<Release> = {},
  ): Uint8Array {
    this.moveDue(now);
    const delayed: Entry[] = [];
    // The attempt was counted when the lease began.
    const uncounted = countAttempt ? 0 : 1;
    const answers = this.settle(ids, now, (lease, held) => {
      this.leases.remove(lease, held);
      if (countAttempt && this.isExhausted(held.entry)) this.letters.add(held.entry, reason || RELEASED);
      else if (delayMs > 0) delayed.push(held.entry);
      else this.log.append(held.entry, held.entry.attempt - uncounted);
    });
    if (delayed.length > 0) {
      this.state.queue.delayed += delayed.length;
      this.due.delay(now + Math.ceil(delayMs), pack(delayed, uncounted));
    }
    return answers;
  }

  extend(ids: readonly string[], now: number, leaseMs: number): Uint8Array {
    const until = now + Math.ceil(leaseMs);
    return this.settle(ids, now, (lease, held) => this.leases.extend(lease, held, until));
  }

  /** Dead letters after the one with this number. */
  deadLetters(limit: number, after: number): DeadLetterPage {
    const most = Math.min(limit, this.session.database.sizes.lettersPerPage);
    const looked = this.letters.from(after + 1, most + 1);
    const more = looked.length > most;
    const page = more ? looked.slice(0, -1) : looked;
    const last = page.at(-1);
    const entries = page
      .filter(({ entry }) => !this.isForgotten(entry))
      .map(({ number, reason, entry }) => ({
        id: idOf('dead-letter', number, 0, entry),
        payload: entry.text,
        attempt: entry.attempt,
        reason,
      }));
    if (!more || !last) return { entries };
    return { entries, next: idOf('dead-letter', last.number, 0, last.entry) };
  }

  putBack(ids: readonly string[], now: number): Uint8Array {
    this.moveDue(now);
    return this.takeLetters(ids, (entry) => this.log.append(entry, 0));
  }

  purge(ids: readonly string[]): Uint8Array {
    return this.takeLetters(ids, (entry) => this.takeOff(entry));
  }

  /** Writes pending changes. Drops all marks if the queue has no entry that they could concern. */
  flush(): void {
    this.log.flush();
    this.leases.flush();
    const { queue } = this.state;
    if (queue.held > 0 || queue.marks.size === 0) return;
    queue.marks.clear();
    queue.firstMark = queue.nextMark;
    this.session.purger.marks(this.state);
  }

  /**
   * Moves due entries: those whose lease has ended, and those whose delay is over. They are queued before the entries
   * that the current change adds.
   */
  private moveDue(now: number): void {
    const { queue } = this.state;
    const before = queue.leased + queue.delayed;
    if (before === 0) return;
    const { movesPerChange } = this.session.database.sizes;
    for (let due = this.due.next(now); due; due = this.due.next(now)) {
      if (due.kind === DueKind.LeaseEnd) this.endLease(due);
      else this.endDelay(due);
      if (before - queue.leased - queue.delayed >= movesPerChange) break;
    }
    this.log.flush();
  }

  private endLease(due: Due): void {
    const ended = this.leases.of(due.number).filter(({ until }) => until === due.at);
    if (ended.length !== due.value.readUInt32BE()) throw this.damaged('leases', due.number);
    for (const held of ended) {
      this.leases.remove(due.number, held);
      if (this.isForgotten(held.entry)) continue;
      if (this.isExhausted(held.entry)) this.letters.add(held.entry, LEASE_ENDED);
      else this.log.append(held.entry);
    }
    this.leases.flush();
  }

  private endDelay(due: Due): void {
    this.due.remove(due);
    for (const entry of entriesOf(due.value)) {
      this.state.queue.delayed--;
      if (!this.isForgotten(entry)) this.log.append(entry);
    }
  }

  /** Takes entries off the head of the log, within the limits of one lease. */
  private take(max: number): Entry[] {
    this.log.flush();
    const taken: Entry[] = [];
    let bytes = 0;
    let skipped = 0;
    const { skipsPerLease } = this.session.database.sizes;
    this.log.takeWhile((entry) => {
      if (taken.length === max || skipped > skipsPerLease) return false;
      if (this.isForgotten(entry)) {
        skipped++;
        return true;
      }
      bytes += entry.payloadBytes;
      if (taken.length > 0 && bytes > MAX_LEASED_BYTES) return false;
      taken.push(entry);
      return true;
    });
    return taken;
  }

  private settle(
    ids: readonly string[],
    now: number,
    change: (lease: number, held: HeldEntry) => void,
  ): Uint8Array {
    return Uint8Array.from(ids, (id) => {
      const named = namedBy(id, 'lease', this.state.queue.nextLease);
      if (!named) return Settled.Unknown;
      const { number, index, hashPrefix } = named;
      const held = this.leases.at(number, index);
      if (!held) return Settled.Expired;
      if (!held.entry.isOf(hashPrefix)) return Settled.Unknown;
      if (this.isForgotten(held.entry)) {
        this.leases.remove(number, held);
        return Settled.Unknown;
      }
      if (held.until <= now) return Settled.Expired;
      change(number, held);
      return Settled.Done;
    });
  }

  private takeLetters(ids: readonly string[], take: (entry: Entry) => void): Uint8Array {
    return Uint8Array.from(ids, (id) => {
      const named = namedBy(id, 'dead-letter', this.state.queue.nextDead);
      const letter = named && this.letters.get(named.number);
      if (!letter || !letter.entry.isOf(named.hashPrefix)) return Settled.Unknown;
      this.letters.remove(named.number);
      if (this.isForgotten(letter.entry)) return Settled.Unknown;
      take(letter.entry);
      return Settled.Done;
    });
  }

  private takeOff({ hash }: Entry): void {
    if (this.collects) this.taken.push({ hash });
  }

  private isForgotten(entry: Entry): boolean {
    return this.state.queue.marks.cover(entry);
  }

  private isExhausted({ attempt }: Entry): boolean {
    const { maxAttempts } = this.state.filter;
    return maxAttempts !== undefined && attempt >= maxAttempts;
  }

  private damaged(table: 'leases', number: number): DamagedRow {
    const { name } = this.session.database[table];
    return new DamagedRow(name, numberedKey(this.state.key, number), RowState.ValueDamaged);
  }
}

function leasedEntry(number: number, index: number, entry: Entry, attempt: number): LeasedEntry {
  return { id: idOf('lease', number, index, entry), payload: entry.text, attempt };
}

/** `uncounted`: number of attempts to subtract from each entry. */
function pack(entries: readonly Entry[], uncounted: number): Buffer {
  packer.clear();
  for (const entry of entries) packer.add(entry, entry.attempt - uncounted);
  return packer.packed();
}

import type { Sync } from '#store';
import * as verbs from '../../libs/store/src/embedded/operations/verbs.js';
import type { Call, SyncEnd } from './calls.js';
import { KEYLESS } from './calls.js';
import { readNumber } from '../../libs/store/src/embedded/database/keys.js';
import { unpackHeld } from '../../libs/store/src/embedded/queue/leases.js';
import type { Put } from './memory-environment.js';
import { expectedNow, REFUSED } from './expected.js';
import { Model, type Event, type Taken } from './model.js';
import { Violation, type Notes } from './notes.js';
import type { Limits } from './limits.js';
import type { Time } from './open-store.js';

const RECORDS_MS = { caller: 86_400_000, made: 60_000 } as const;
const SCOPE_BYTES = 8;
const VERB_AT = SCOPE_BYTES + 5;
const SEAL_BYTES = 8;
const VERBS = new Map(
  Object.values(verbs).flatMap((verb) => (typeof verb === 'object' ? [[verb.number, verb] as const] : [])),
);

/** Learns the effects of transactions, right after each. */
export interface Listener {
  /** A call was executed. `value` is its answer. */
  executed(call: Call, value: unknown): void;
  syncEnded(end: SyncEnd): void;
  /** Calls may get different answers from now on. */
  changed(): void;
}

/** The entries in a new lease's rows. */
function takenBy(number: number, puts: readonly Put[]): Taken {
  const rows = puts.filter(({ table, key }) => table === 'leases' && readNumber(key, SCOPE_BYTES) === number);
  return { number, items: rows.flatMap(({ value }) => unpackHeld(value)).map(({ entry }) => entry.text) };
}

/** The true state. It is a model that follows the transactions, as their rows show them. */
export class Truth {
  model: Model;
  /** Everything that ran. The first `committed` events are on disk. */
  private events: Event[] = [];
  private committed = 0;
  private readonly calls = new Map<string, Call>();

  constructor(
    private readonly limits: Limits,
    private readonly time: Time,
    private readonly notes: Notes,
    private readonly listener: Listener,
  ) {
    this.model = new Model(limits);
  }

  /** Records that a call is sent. */
  add(call: Call): void {
    if (!this.calls.has(call.operation.id)) this.calls.set(call.operation.id, call);
  }

  isCommitted({ operation }: Call): boolean {
    return this.events
      .slice(0, this.committed)
      .some((event) => 'call' in event && event.call.operation.id === operation.id);
  }

  /** True if the store must have the call's record. */
  isRecorded(call: Call): boolean {
    return this.model.answers.has(call.operation.id) && !this.isForgetful(call) && this.isCurrent(call);
  }

  /** Whether a call's record may be gone, so that a repeat is executed. */
  isForgetful({ operation: { id, origin } }: Call): boolean {
    const known = this.model.answers.get(id);
    if (!known) return false;
    return this.limits.maxRecordBytes !== undefined || this.time.latest - known.at >= RECORDS_MS[origin];
  }

  /** Whether the record of an operation with a generated id may be gone. */
  mayHaveExpired({ operation, set }: Call): boolean {
    const { origin, madeAt = Infinity } = operation;
    const isOld = this.time.latest - madeAt >= RECORDS_MS[origin];
    const createdAt = this.model.sets.get(set)?.filter.createdAt ?? Infinity;
    return isOld || madeAt < createdAt || this.limits.maxRecordBytes !== undefined;
  }

  /** A transaction has put these rows. */
  ran(puts: readonly Put[]): void {
    const ends: Sync[] = [];
    const before = this.events.length;
    for (const { table, key, value } of puts) {
      if (table !== 'records') continue;
      const verb = VERBS.get(key[VERB_AT] as number);
      const id =
        key
          .toString('utf8', VERB_AT + 1)
          .split('\0')
          .at(-1) ?? '';
      const answer = verb?.decode(value.subarray(2 + value.readUInt16LE(0), value.length - SEAL_BYTES));
      if (verb === verbs.END_SYNC) ends.push(answer as Sync);
      else this.executed(id, verb === verbs.LEASE ? takenBy(answer as number, puts) : answer);
    }
    // A lease that finds nothing isn't recorded, but may have moved due entries.
    const moved = puts.find(({ table, isNew }) => table === 'dead' || (table === 'log' && isNew));
    if (moved && this.events.length === before)
      this.happened({ at: this.time.now, moved: moved.key.toString('hex', 0, SCOPE_BYTES) });
    // A change that ends a sync ends it when it is made, and is recorded afterwards.
    for (const ended of ends) this.happened({ at: this.time.now, ended });
    for (const [name, { sync }] of this.model.sets) {
      const { maxSyncForgets: most } = this.limits;
      // Only a removal ends a sync. An earlier add may still write noted removals to rows again.
      if (sync && (sync.removed.size > most || sync.rowHashes > 5 * most))
        throw new Violation(`${name}: a sync continues after more removals than may be noted`);
    }
  }

  /** Everything that ran was committed, or none of it. */
  ended(committed: boolean): void {
    if (committed) this.committed = this.events.length;
    if (this.events.length === this.committed) return;
    this.events = this.events.slice(0, this.committed);
    this.model = Model.of(this.events, this.time.now, this.limits);
    this.notes.tally('changes undone');
  }

  private executed(id: string, answer: unknown): void {
    const call = this.calls.get(id);
    if (!call) throw new Violation(`the store recorded an operation that no caller sent: ${id}`);
    if (this.model.answers.has(id) && !this.isForgetful(call) && this.isCurrent(call))
      throw new Violation(`${call.verb} was executed again: ${id}`);
    const expected = expectedNow(this.model, call, { isRecorded: false });
    if (expected?.text.startsWith(REFUSED))
      throw new Violation(`${call.verb} was executed, not ${expected.text}: ${id}`);
    this.happened({ at: this.time.now, call, answer });
    const known = this.model.answers.get(id);
    if (known) this.listener.executed(call, known.value);
  }

  private isCurrent(call: Call): boolean {
    return KEYLESS.has(call.verb) || this.model.current(call) !== undefined;
  }

  private happened(event: Event): void {
    this.events.push(event);
    this.model.apply(event);
    if ('ended' in event) {
      const { state, reason } = event.ended;
      this.notes.tally(`sync ${state}${reason === undefined ? '' : `, since ${reason}`}`);
      this.listener.syncEnded(event.ended);
    }
    this.listener.changed();
  }
}

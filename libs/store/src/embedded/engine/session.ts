import { positionsOfHashes } from '#bloom';
import type { Clock } from '../../clock.js';
import type { RandomSource } from '../../random-source.js';
import { Commits, UnchangedError } from '../journal/commits.js';
import type { Filter, SyncOutcome } from '../../port/index.js';
import type { Database } from '../database/database.js';
import { FilterState } from '../filters/filter-state.js';
import { JOURNAL_LAST, JournalEncoder, setPrevious } from '../journal/journal.js';
import { numberKey } from '../database/keys.js';
import { claims } from '../items/passes.js';
import { loadMemory } from './load.js';
import type { Memory } from '../filters/memory.js';
import { outdatedRecords, putRecord, recall, type Identity } from '../operations/operation-records.js';
import { Purger } from './purge.js';
import { windowAt, type Origin, type RecordScope, type RecordWindow } from '../operations/record-window.js';
import { Sweeper } from '../queue/sweeper.js';
import { encodeScope, encodeState } from '../filters/state-codec.js';
import type { Verb } from '../operations/verbs.js';

/** The store's options that a session uses. */
export interface SessionOptions {
  /** Answers wait until their change is on disk, not just until it is committed. */
  readonly fsync: boolean;
  /** Limit on operation records per scope and origin, in bytes. */
  readonly maxRecordBytes: number;
  /** A checkpoint is due when the journal exceeds this many bytes, or half the size of all cells if that is more. */
  readonly checkpointBytes: number;
  /** See EmbeddedOptions. */
  readonly maxMarks: number;
  /** See EmbeddedOptions. */
  readonly maxSyncForgets: number;
  /** See EmbeddedOptions. */
  readonly maxHidden: number;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** See Commits. */
  readonly onTurns: (filter: Filter) => void;
  /** See Commits. */
  readonly onSyncEnd: (outcome: SyncOutcome) => void;
}

/** A mutation's answer, and the journal records of the cells that it changed, one per layer. */
export interface Change<T> {
  readonly answer: T;
  /** Each record is written before the next one is requested. */
  readonly records?: Iterable<Buffer>;
  /** If the answer is known in advance: makes the change. Absent if the change has already been made. */
  readonly apply?: () => void;
  /** The answer is not recorded, so a repeat runs like a first call. */
  readonly unrecorded?: true;
}

/** The database loaded into memory. A session ends when a commit fails. */
export class Session {
  readonly memory: Memory;
  readonly commits: Commits;
  readonly purger: Purger;
  readonly sweeper: Sweeper;
  readonly journal = new JournalEncoder();

  private constructor(
    readonly database: Database,
    readonly options: SessionOptions,
  ) {
    this.memory = loadMemory(database, options.clock);
    const { fsync, onTurns, onSyncEnd } = options;
    this.commits = new Commits(database, this.memory, fsync, onTurns, onSyncEnd);
    this.purger = new Purger(database, this.commits);
    this.sweeper = new Sweeper(this, options.maxMarks, options.clock);
  }

  static async load(database: Database, options: SessionOptions): Promise<Session> {
    const session = new Session(database, options);
    const lost = [...session.memory.filters.values()].filter((state) => state.lost);
    const { strayRecords } = session.memory;
    if (lost.length + strayRecords.length > 0) {
      await session.commits.run(() => {
        // Save the loss now, because the next checkpoint may delete its evidence, such as a gap in the journal.
        for (const state of lost) session.save(state);
        for (const key of strayRecords.splice(0)) database.journal.removeSync(key);
      });
    }
    session.purger.leftovers(session.memory);
    for (const state of session.memory.filters.values()) session.sweeper.consider(state);
    for (const state of session.memory.filters.values()) void session.sweeper.removeUnkept(state);
    return session;
  }

  get now(): number {
    return Math.floor(this.options.clock.now());
  }

  /** One byte per hash: 1 if one of the filter's own layers (not the sync's) claims the item. */
  claimed({ stack }: FilterState, hashes: Uint32Array): Uint8Array {
    return claims(stack, positionsOfHashes(hashes, stack.plan[0].geometry));
  }

  get random(): RandomSource {
    return this.options.random;
  }

  /**
   * Runs an operation, or returns its recorded answer. If `change` throws, it must do so before it changes anything.
   * The answer is recorded with the change. Throws UnchangedError if the answer cannot be recorded and `apply` has not
   * made the change yet. Call it inside a transaction.
   */
  once<T>(identity: Identity<T>, change: () => Change<T>): T {
    const { scope, operation } = identity;
    const { origin } = operation;
    const known = this.recall(identity);
    if (known) return known.answer;
    const before = scope.windows[origin];
    const window = this.windowOf(scope, origin);
    const { answer, records, apply, unrecorded } = change();
    if (unrecorded) return answer;
    const encoded = encodeAnswer(identity.verb, answer, apply === undefined);
    apply?.();
    this.appendAll(scope, records ?? []);
    const bytes = window.bytes + putRecord(this.database, identity, window, encoded);
    scope.windows = { ...scope.windows, [origin]: { ...window, bytes } };
    this.save(scope);
    if (window.number !== before.number) this.purger.records(outdatedRecords(scope, origin));
    return answer;
  }

  /**
   * Writes the state and the journal records for a change that records no answer. See `Change.records`. Call it inside
   * a transaction.
   */
  keep(scope: RecordScope, records: Iterable<Buffer> = []): void {
    this.appendAll(scope, records);
    this.save(scope);
  }

  /** See `recall` in operations/operation-records.ts. */
  recall<T>(identity: Identity<T>): { answer: T } | undefined {
    return recall(this.database, identity, this.now);
  }

  /** Writes the state row of a scope. Call it inside a transaction. */
  save(scope: RecordScope): void {
    const state = scope instanceof FilterState ? encodeState(scope) : encodeScope(scope);
    this.database.states.putSync(scope.key, state);
  }

  /** The window for a record written now. */
  private windowOf({ windows }: RecordScope, origin: Origin): RecordWindow {
    return windowAt(windows[origin], origin, this.now, this.options.maxRecordBytes);
  }

  private appendAll(scope: RecordScope, records: Iterable<Buffer>): void {
    const { sequence } = this.memory;
    for (const record of records) this.append(scope, record);
    if (this.memory.sequence === sequence) this.append(scope, this.journal.encodeNone(scope.key));
  }

  private append(scope: RecordScope, record: Buffer): void {
    setPrevious(record, scope.lastChange);
    scope.lastChange = ++this.memory.sequence;
    this.memory.journalBytes += record.length;
    const key = numberKey(this.memory.sequence);
    this.database.journal.putSync(key, record);
    this.database.meta.putSync(JOURNAL_LAST, key);
  }
}

function encodeAnswer<T>(verb: Verb<T>, answer: T, changed: boolean): Uint8Array {
  try {
    return verb.encode(answer);
  } catch (cause) {
    throw changed ? cause : new UnchangedError(cause);
  }
}

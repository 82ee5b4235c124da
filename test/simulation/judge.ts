import { Added, Removed, StaleFilterError, StoreError, type QueueEntry } from '#store';
import { isCounting, MUTATIONS, type Call, type SyncEnd, type Verb } from './calls.js';
import { described } from './described.js';
import { asAnswered, expectedNow, refused, type Expected } from './expected.js';
import { AgedLayers } from './layers.js';
import type { Observer, Put, SimulatedDisk } from './memory-environment.js';
import { Violation, type Notes } from './notes.js';
import type { Time } from './open-store.js';
import type { Limits } from './limits.js';
import { Listing } from './listing.js';
import { Sightings } from './sightings.js';
import type { Answer } from './store-calls.js';
import { Torn } from './torn.js';
import { Truth, type Listener } from './truth.js';

/** A call in progress. */
export interface Attempt {
  readonly number: number;
  readonly call: Call;
  readonly isRepeat: boolean;
  readonly startedAt: number;
  /** Whether it repeats a call that had been executed. */
  readonly wasDone: boolean;
  /** The generation of the set that had the name when it was sent. */
  readonly taken: string | undefined;
  /** Possible answers, from the states since it was sent. */
  readonly candidates: Map<string, Expected>;
  /** Possible answers from changes that have run but may not be committed. */
  readonly tentative: Map<string, Expected>;
  /** States that an export may have seen. */
  readonly seen: Sightings;
  /** States that a list of entries may have seen. */
  readonly listing: Listing;
  /** The number of parts that an import has read. */
  read: number;
}

/** How long calls are refused after a failed commit, at most. */
export const FAULT_MS = 15_000;
/** How long the store goes on treating a full disk as full. */
const RECHECK_MS = 500;
const RECORDED: ReadonlySet<Verb> = new Set(MUTATIONS);

/** Compares each answer with the states during its call. */
export class Judge implements Observer, Listener {
  /** True once all faults have ended. After that, no fault excuses a failed call. */
  isOver = false;
  readonly truth: Truth;
  private readonly pending = new Map<number, Attempt>();
  private sent = 0;
  private lastFault = -Infinity;
  /** Whether a commit has failed and the store may not know it yet. */
  private isFaulty = false;
  private isRunning = false;
  private failure: string | undefined;

  constructor(
    private readonly limits: Limits,
    private readonly time: Time,
    private readonly disk: SimulatedDisk,
    private readonly notes: Notes,
  ) {
    this.truth = new Truth(limits, time, notes, this);
  }

  /** The calls in progress. */
  get underWay(): string[] {
    return Array.from(this.pending.values(), ({ number, call }) => `${call.verb} ${number}`);
  }

  /** Records that a call is sent. `isTelling`: callers have yet to be told of commits. */
  begin(call: Call, isRepeat: boolean, isTelling: boolean): Attempt {
    // The store reloads its data with the next call, and refuses some calls for a while from then on.
    if ((this.isFaulty || this.disk.full) && !this.isOver) {
      this.lastFault = this.time.passed;
      this.isFaulty = this.pending.size > 0 || isTelling || !isCounting(call);
    }
    const attempt: Attempt = {
      ...{
        number: this.sent++,
        call,
        isRepeat,
        taken: this.truth.model.sets.get(call.set)?.filter.generation,
      },
      wasDone: isRepeat && this.truth.isCommitted(call),
      startedAt: this.time.passed,
      candidates: new Map(),
      tentative: new Map(),
      seen: new Sightings(),
      listing: new Listing(),
      read: 0,
    };
    this.truth.add(call);
    this.pending.set(attempt.number, attempt);
    this.expectOf(attempt);
    const { verb, set } = call;
    this.notes.note(`${attempt.number} ${isRepeat ? 'again ' : ''}${verb} ${set} ${described(call)}`);
    return attempt;
  }

  /** Judges how a call ends. Ignores answers from a process that has died, because they reach no caller. */
  end(attempt: Attempt, judge: () => void): void {
    if (this.pending.delete(attempt.number)) this.attend(judge);
  }

  /** Records that the process has died. */
  died(): void {
    this.notes.tally(this.pending.size > 0 ? 'killed with calls in progress' : 'killed');
    this.pending.clear();
  }

  assertSound(): void {
    if (this.failure !== undefined) throw new Violation(this.failure);
  }

  answered(attempt: Attempt, { value, isPaged }: Answer): void {
    const { call, number, isRepeat } = attempt;
    const { verb } = call;
    this.notes.note(`${number} answers ${JSON.stringify(value)}`);
    if (isPaged) this.notes.tally('read in pages');
    const isMixed = isPaged && attempt.candidates.size > 1;
    if (!isMixed && ![...attempt.candidates.values()].some((expected) => expected.matches(value)))
      this.wrong(attempt, JSON.stringify(value));
    if (
      RECORDED.has(verb) &&
      !this.truth.isCommitted(call) &&
      !(verb === 'lease' && (value as unknown[]).length === 0)
    )
      throw new Violation(`${verb} ${number} was answered before it was committed`);
    if (attempt.wasDone && attempt.read > 0 && !this.truth.isForgetful(call))
      throw new Violation(`import ${number} has read its parts though it is a repeat`);
    this.notes.tally(isRepeat ? `repeated ${verb}` : verb);
    if (verb === 'remove' && (value as number[]).includes(Removed.Saturated)) this.notes.tally('saturated');
    if (verb === 'discover' && (value as number[]).includes(Added.Limited)) this.notes.tally('limited');
    if (verb === 'lease' && call.spec.perHost && (value as unknown[]).length > 0)
      this.notes.tally('lease by host');
    if (verb === 'entries') this.listed(attempt, value as readonly QueueEntry[]);
    if (['discover', 'ack'].includes(verb) && call.laterMs > 0) this.notes.tally(`scheduled by ${verb}`);
    if (verb === 'import' && call.spec.perHost) this.notes.tally('hosts imported');
    const layers = this.truth.model.sets.get(call.set)?.layers;
    if (verb === 'check' && layers instanceof AgedLayers && layers.hiddenItems > 0)
      this.notes.tally('hidden');
  }

  private listed({ number, listing }: Attempt, entries: readonly QueueEntry[]): void {
    const wrong = listing.contradicting(entries);
    if (wrong !== undefined) throw new Violation(`entries ${number} lists ${wrong}`);
    if (entries.length > 0) this.notes.tally('entries listed');
    if (listing.isAfterSetBack) this.notes.tally('entries listed after the clock was set back');
  }

  failed(attempt: Attempt, error: unknown): void {
    const { call, number, startedAt } = attempt;
    const code = refusalOf(error);
    this.notes.note(`${number} fails: ${code ?? String(error)}`);
    if (code === undefined)
      throw new Violation(
        `${call.verb} ${number} failed: ${String(error instanceof Error ? error.stack : error)}`,
      );
    this.notes.tally(`refused: ${code}`);
    const isExpected =
      code === 'STORE_FULL'
        ? startedAt < this.disk.toldFullAt + RECHECK_MS
        : code === 'STORE_UNAVAILABLE' && startedAt <= this.lastFault + FAULT_MS;
    if (isExpected) {
      // The store may have refused the call before it reloaded its data.
      if (!this.isOver) this.isFaulty = true;
      return;
    }
    if (code === 'TORN' && call.tear !== undefined) return;
    const { model } = this.truth;
    const isTaken =
      attempt.taken !== undefined && model.sets.get(call.set)?.filter.generation === attempt.taken;
    if (code === 'FILTER_EXISTS' && attempt.read > 0 && isTaken)
      throw new Violation(`import ${number} has read parts of a set whose name is taken`);
    if (code === 'SYNC_NOT_FOUND' && this.limits.maxRecordBytes !== undefined) return;
    if (!attempt.candidates.has(refused(code).text)) this.wrong(attempt, `refused: ${code}`);
  }

  /** Call this when something has changed that calls in progress may see. */
  changed(): void {
    for (const attempt of this.pending.values()) this.expectOf(attempt);
  }

  executed(call: Call, value: unknown): void {
    for (const attempt of this.pending.values())
      if (attempt.call.operation.id === call.operation.id) this.expect(attempt, asAnswered(call, value));
  }

  syncEnded({ id, state }: SyncEnd): void {
    for (const attempt of this.pending.values()) {
      const { verb, sync } = attempt.call;
      const wanted = verb === 'commit-sync' ? 'committed' : verb === 'abandon-sync' ? 'abandoned' : undefined;
      if (sync === id && wanted === state)
        this.expect(attempt, { text: state, matches: (value) => value === state });
    }
  }

  /** Runs changes, and commits them if `commits` is true. */
  running(run: () => void, commits: boolean): void {
    if (!commits) {
      this.lastFault = this.time.passed;
      this.isFaulty = true;
      this.notes.tally('commit failed');
    }
    this.isRunning = true;
    run();
    this.isRunning = false;
    for (const { candidates, tentative } of this.pending.values()) {
      if (commits) for (const [text, expected] of tentative) candidates.set(text, expected);
      tentative.clear();
    }
    this.changed();
  }

  ran(puts: readonly Put[]): void {
    this.attend(() => this.truth.ran(puts));
  }

  ended(committed: boolean): void {
    this.truth.ended(committed);
  }

  /** Records a violation. It must not reach the store as an exception. */
  private attend(judge: () => void): void {
    try {
      judge();
    } catch (error) {
      this.failure ??= error instanceof Violation ? error.message : String((error as Error).stack);
    }
  }

  private wrong({ call, number, candidates }: Attempt, answer: string): never {
    const allowed = [...candidates.keys()].join(' or ') || 'nothing that was known';
    throw new Violation(
      `${call.verb} ${number} on ${call.set} ${described(call)}: ${answer}, not ${allowed}`,
    );
  }

  /** Adds the answer that a call would get now. */
  private expectOf(attempt: Attempt): void {
    const { call, isRepeat } = attempt;
    const set = call.verb === 'export' && this.truth.model.current(call);
    if (set) attempt.seen.look(set, this.time.now);
    const { queue } = (call.verb === 'entries' && this.truth.model.current(call)) || {};
    if (queue) attempt.listing.look(queue, call.query);
    this.expect(attempt, expectedNow(this.truth.model, call, { isRepeat }));
    if (isRepeat && this.truth.mayHaveExpired(call)) this.expect(attempt, refused('IDEMPOTENCY_KEY_EXPIRED'));
    if (this.truth.isForgetful(call))
      this.expect(attempt, expectedNow(this.truth.model, call, { isRecorded: false }));
  }

  private expect({ candidates, tentative }: Attempt, expected: Expected | undefined): void {
    if (expected) (this.isRunning ? tentative : candidates).set(expected.text, expected);
  }
}

export type Refusal = StoreError['code'] | 'STALE' | 'TORN' | 'NOT_COUNTING';

/** A refusal's code. Undefined for any other error. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof StaleFilterError) return 'STALE';
  if (error instanceof Torn) return 'TORN';
  if (error instanceof TypeError && /is a standard filter/.test(error.message)) return 'NOT_COUNTING';
  return error instanceof StoreError ? error.code : undefined;
}

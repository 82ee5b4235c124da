import { createHash } from 'node:crypto';
import { Removed, StaleFilterError, StoreError, type Filter, type Sync } from '#store';
import { Database } from '../../libs/store/src/embedded/database.js';
import { EmbeddedStore } from '../../libs/store/src/embedded/embedded-store.js';
import { Engine } from '../../libs/store/src/embedded/engine.js';
import { decodeEntryId } from '../../libs/store/src/entry-id.js';
import * as verbs from '../../libs/store/src/embedded/verbs.js';
import { Random } from '../support/random.js';
import { MUTATIONS, type Call, type Held, type SyncEnd, type Verb } from './calls.js';
import { asAnswered, expectedNow, refused, type Expected } from './expected.js';
import { itemOf, MOST_ITEMS } from './items.js';
import { AgedList } from './lists.js';
import { MemoryEnvironment, SimulatedDisk, type Put } from './memory-environment.js';
import { Model, type Event } from './model.js';
import { syncSpecOf, type Plan, type Step } from './plan.js';
import { send, type Answer } from './store-calls.js';

/** A call under way. */
interface Attempt {
  readonly number: number;
  readonly call: Call;
  readonly isRepeat: boolean;
  readonly startedAt: number;
  /** What it may answer, by what was true at some time since it was sent. */
  readonly candidates: Map<string, Expected>;
  /** The same, by what changes that ran have made true: they may not be committed. */
  readonly tentative: Map<string, Expected>;
}

export interface Outcome {
  readonly violation: string | undefined;
  readonly trace: readonly string[];
  readonly hash: string;
  readonly exercised: ReadonlyMap<string, number>;
}

const START = 1_800_000_000_000;
/** After a failed commit calls are refused for so long at most. */
const FAULT_MS = 15_000;
/** That the disk is full is relied on for so long. */
const RECHECK_MS = 500;
/** Turns in which nothing happens, after which what is under way hangs. */
const PATIENCE = 500;
const QUIET_TURNS = 4;
const RECORDS_MS = { caller: 86_400_000, made: 60_000 } as const;
const SCOPE_BYTES = 8;
const VERB_AT = SCOPE_BYTES + 5;
const SEAL_BYTES = 8;
const KEYLESS: ReadonlySet<Verb> = new Set(['create', 'drop', 'clear', 'open', 'tend']);
const RECORDED: ReadonlySet<Verb> = new Set(MUTATIONS);
const VERBS = new Map(
  Object.values(verbs).flatMap((verb) => (typeof verb === 'object' ? [[verb.number, verb] as const] : [])),
);

/** The call that answers with the ids that another one needs. */
const NEEDED: Partial<Record<Verb, Verb>> = {
  ack: 'lease',
  release: 'lease',
  extend: 'lease',
  'put-back': 'dead-letters',
  purge: 'dead-letters',
  keep: 'open-sync',
};

class Violation extends Error {}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Runs a plan on a store with a simulated disk, clock and scheduler, and compares each answer with the model. */
export async function runHistory(plan: Plan): Promise<Outcome> {
  const history = new History(plan);
  let violation: string | undefined;
  try {
    await history.run();
  } catch (error) {
    violation =
      error instanceof Violation ? error.message : String(error instanceof Error ? error.stack : error);
  }
  const { trace, exercised } = history;
  const hash = createHash('sha256').update(trace.join('\n')).digest('hex');
  return { violation, trace, hash, exercised };
}

class History {
  readonly trace: string[] = [];
  readonly exercised = new Map<string, number>();
  private readonly time = { now: START, latest: START, passed: 0 };
  private readonly disk = new SimulatedDisk(this.time);
  private readonly random: Random;
  private model = new Model();
  /** What ran; of that the first `committed` are on disk. */
  private events: Event[] = [];
  private committed = 0;
  private environment!: MemoryEnvironment;
  private store!: EmbeddedStore;
  private pending = new Map<number, Attempt>();
  private readonly calls: Call[] = [];
  private sent = 0;
  private lastFault = -Infinity;
  /** A commit has failed, and the store may not know yet. */
  private isFaulty = false;
  /** All faults are over: no call may fail for them. */
  private isOver = false;
  private isRunning = false;
  private failure: string | undefined;
  private readonly handles = new Map<string, Filter>();
  private held: (Held & { set: string })[] = [];
  private letters: (Call['letters'][number] & { set: string })[] = [];
  private syncs: { set: string; id: string }[] = [];
  /** Handles by generation and base, for repeats. */
  private readonly filters = new Map<string, Filter>();

  constructor(private readonly plan: Plan) {
    this.random = new Random(plan.seed ^ 0x5eed);
  }

  async run(): Promise<void> {
    await this.open();
    for (const { name } of this.plan.sets) await this.once({ verb: 'create', set: name });
    for (const step of this.plan.steps) {
      await this.take(step);
      this.assertSound();
    }
    await this.end();
  }

  private async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'call':
        this.call(step);
        break;
      case 'repeat':
        this.repeat(step.number);
        break;
      case 'run':
        if (!this.environment.canRun) return;
        this.note(`run, ${step.commits ? 'committed' : step.full ? 'disk full' : 'commit failed'}`);
        this.disk.full = step.full;
        this.runAll(step.commits);
        break;
      case 'tell':
        this.environment.tell();
        break;
      case 'turns':
        for (let n = 0; n < step.number; n++) await turn();
        break;
      case 'settle':
        await this.settle();
        break;
      case 'time':
        this.advance(step.ms);
        break;
      case 'restart':
        await this.restart(step.kill);
    }
    await turn();
  }

  /** Everything is still there after all faults, and after restarts; and what is queued is handed out. */
  private async end(): Promise<void> {
    await this.settle();
    this.advance(FAULT_MS);
    await this.lookAtAll();
    this.advance(FAULT_MS);
    this.isOver = true;
    await this.lookAtAll();
    await this.restart(true);
    await this.lookAtAll();
    this.advance(200_000);
    for (const { name, kind } of this.plan.sets) {
      if (kind === 'visited-set') await this.drain(name);
    }
    await this.restart(false);
    await this.lookAtAll();
  }

  private async lookAtAll(): Promise<void> {
    const items = Array.from({ length: MOST_ITEMS }, (_, n) => itemOf(n));
    for (const { name, kind } of this.plan.sets) {
      await this.once({ verb: 'open', set: name });
      if (!this.model.sets.has(name)) continue;
      await this.once({ verb: 'check', set: name, items });
      await this.once({ verb: 'describe', set: name });
      if (kind === 'visited-set') await this.once({ verb: 'dead-letters', set: name });
    }
  }

  private async drain(set: string): Promise<void> {
    const { model } = this;
    for (let left = 200; model.sets.has(set) && left > 0; left--) {
      await this.once({ verb: 'lease', set, max: 3, ms: 1_000 });
      const held = this.held
        .splice(0)
        .filter(({ generation }) => generation === this.handles.get(set)?.generation);
      if (held.length === 0) break;
      this.tally('drained');
      await this.once({ verb: 'ack', set, held });
    }
    const left = this.model.sets.get(set)?.queue;
    if (left && !left.isEmpty) throw new Violation(`${set}: entries are left that no lease finds`);
  }

  /** One call, to its end. */
  private async once(call: Partial<Call> & Pick<Call, 'verb' | 'set'>): Promise<void> {
    this.send(this.callOf(call), false);
    await this.settle();
    this.assertSound();
  }

  private call({ verb, set: n, items, number, ms, flag, caller }: Extract<Step, { do: 'call' }>): void {
    const spec = this.plan.sets[n];
    if (!spec) return;
    const { name: set, kind, type, semantics, maxAgeSeconds } = spec;
    const ofQueue = [
      'discover',
      'lease',
      'ack',
      'release',
      'extend',
      'dead-letters',
      'put-back',
      'purge',
    ].includes(verb);
    if (
      (ofQueue && kind !== 'visited-set') ||
      (type === 'standard' && (verb === 'remove' || verb === 'count'))
    )
      return;
    if (semantics === 'multiset' && (verb.endsWith('sync') || verb === 'keep')) return;
    // A set that is dropped and made again has the same seed here: ids of its old entries may fit its new ones.
    const generation = this.handles.get(set)?.generation;
    const held = this.held.filter((one) => one.generation === generation);
    const letters = this.letters.filter((one) => one.generation === generation);
    const syncs = this.syncs.filter((one) => one.set === set);
    const sync = syncs.at(number % 8 === 0 ? number % syncs.length : -1)?.id;
    if (['get-sync', 'commit-sync', 'abandon-sync'].includes(verb) && sync === undefined) return;
    // What a call needs is fetched first.
    const isLacking =
      (['ack', 'release', 'extend'].includes(verb) && held.length === 0) ||
      (['put-back', 'purge'].includes(verb) && letters.length === 0) ||
      (verb === 'keep' && sync === undefined);
    const call = this.callOf(
      {
        ...{
          verb: isLacking ? (NEEDED[verb] ?? verb) : verb,
          set,
          ms,
          sync: sync ?? '',
          countAttempt: flag,
          max: 1 + (number % 4),
        },
        // A multiset also has counters that overflow.
        items:
          semantics === 'multiset' && flag
            ? items.flatMap((n) => Array<string>(number % 3 === 0 ? 17 : 6).fill(itemOf(n)))
            : items.map(itemOf),
        ttlMs: maxAgeSeconds !== undefined && flag ? ms : undefined,
        held: some(held, number),
        letters: some(letters, number),
      },
      caller,
    );
    this.send(call, false);
  }

  private callOf(given: Partial<Call> & Pick<Call, 'verb' | 'set'>, caller = false): Call {
    const { set } = given;
    const spec = this.plan.sets.find(({ name }) => name === set);
    if (!spec) throw new RangeError(`there is no set ${set}`);
    const filter = this.handles.get(set);
    const verb = filter || KEYLESS.has(given.verb) ? given.verb : 'open';
    const call: Call = {
      ...{ spec, generation: filter?.generation ?? '', base: filter?.base ?? 0 },
      ...{ items: [], max: 1, ms: 1_000, countAttempt: true, held: [], letters: [], sync: '' },
      ...given,
      verb,
      ...(verb === 'open-sync' && { spec: syncSpecOf(spec) }),
      operation: {
        id: `operation-${this.calls.length}`,
        fingerprint: 'f',
        deadline: Infinity,
        ...(caller
          ? { origin: 'caller', repeat: true }
          : { origin: 'made', repeat: false, madeAt: this.time.now }),
      },
    };
    this.calls.push(call);
    return call;
  }

  private repeat(number: number): void {
    const recorded = this.calls.filter(({ verb }) => RECORDED.has(verb));
    // Mostly one of the last: the records of others may be gone.
    const call = number % 4 === 0 ? recorded[number % recorded.length] : recorded.at(-1 - (number % 5));
    if (call) this.send({ ...call, operation: { ...call.operation, repeat: true } }, true);
  }

  private send(call: Call, isRepeat: boolean): void {
    const number = this.sent++;
    // The store loads its data again with the next call, and refuses some for a while from then on.
    if ((this.isFaulty || this.disk.full) && !this.isOver) {
      this.lastFault = this.time.passed;
      this.isFaulty = this.pending.size > 0 || this.environment.canTell;
    }
    const { verb, set } = call;
    const attempt: Attempt = {
      number,
      call,
      isRepeat,
      startedAt: this.time.passed,
      candidates: new Map(),
      tentative: new Map(),
    };
    this.pending.set(number, attempt);
    this.expectOf(attempt);
    this.note(`${number} ${isRepeat ? 'again ' : ''}${verb} ${set} ${described(call)}`);
    const filter = this.filters.get(`${call.generation} ${call.base}`);
    void send(this.store, filter, call).then(
      (answer) => this.ends(attempt, () => this.answered(attempt, answer)),
      (error: unknown) => this.ends(attempt, () => this.failed(attempt, error)),
    );
  }

  /** An answer of a process that has died reaches nobody. */
  private ends(attempt: Attempt, judge: () => void): void {
    if (!this.pending.delete(attempt.number)) return;
    try {
      judge();
    } catch (error) {
      this.failure ??= error instanceof Violation ? error.message : String((error as Error).stack);
    }
  }

  private answered(attempt: Attempt, answer: Answer): void {
    const { call, number, isRepeat } = attempt;
    const { verb } = call;
    const { value } = answer;
    this.note(`${number} answers ${JSON.stringify(value)}`);
    if (![...attempt.candidates.values()].some((expected) => expected.matches(value)))
      this.wrong(attempt, JSON.stringify(value));
    const isCommitted = this.events
      .slice(0, this.committed)
      .some((event) => 'call' in event && event.call.operation.id === call.operation.id);
    if (RECORDED.has(verb) && !isCommitted && !(verb === 'lease' && (value as unknown[]).length === 0))
      throw new Violation(`${verb} ${number} was answered before it was committed`);
    this.tally(isRepeat ? `repeated ${verb}` : verb);
    if (verb === 'remove' && (value as number[]).includes(Removed.Saturated)) this.tally('saturated');
    const list = this.model.sets.get(call.set)?.list;
    if (verb === 'check' && list instanceof AgedList && list.hiddenItems > 0) this.tally('hidden');
    this.learn(call, answer);
  }

  private learn({ set, verb, generation }: Call, { filter, leased, letters, sync, value }: Answer): void {
    if (filter) {
      this.handles.set(set, filter);
      this.filters.set(`${filter.generation} ${filter.base}`, filter);
    }
    for (const { id, payload } of leased ?? []) {
      const { number = 0, index = 0 } = decodeEntryId(id) ?? {};
      this.held.push({ set, id, generation, lease: number, index, item: payload });
    }
    for (const { id, payload } of letters ?? []) this.letters.push({ set, id, generation, item: payload });
    if (sync !== undefined && !this.syncs.some(({ id }) => id === sync)) this.syncs.push({ set, id: sync });
    if (verb === 'drop' || (verb === 'commit-sync' && value === 'committed')) this.handles.delete(set);
  }

  private failed(attempt: Attempt, error: unknown): void {
    const { call, number, startedAt, isRepeat } = attempt;
    const code =
      error instanceof StaleFilterError ? 'STALE' : error instanceof StoreError ? error.code : undefined;
    this.note(`${number} fails: ${code ?? String(error)}`);
    if (code === undefined)
      throw new Violation(
        `${call.verb} ${number} failed: ${String(error instanceof Error ? error.stack : error)}`,
      );
    this.tally(`refused: ${code}`);
    if (code === 'STALE' || code === 'FILTER_NOT_FOUND') this.handles.delete(call.set);
    const isExpected =
      code === 'STORE_FULL'
        ? startedAt < this.disk.toldFullAt + RECHECK_MS
        : code === 'STORE_UNAVAILABLE' && startedAt <= this.lastFault + FAULT_MS;
    if (isExpected) {
      // It may have been refused before the store has loaded its data again.
      if (!this.isOver) this.isFaulty = true;
      return;
    }
    if (code === 'SYNC_NOT_FOUND' && this.plan.limits.maxRecordBytes !== undefined) return;
    if (code === 'IDEMPOTENCY_KEY_EXPIRED' && isRepeat && this.mayHaveExpired(call)) return;
    if (!attempt.candidates.has(refused(code).text)) this.wrong(attempt, `refused: ${code}`);
  }

  /** Whether the record of an operation that the service made may be gone. */
  private mayHaveExpired({ operation, set }: Call): boolean {
    const { origin, madeAt = Infinity } = operation;
    const isOld = this.time.latest - madeAt >= RECORDS_MS[origin];
    const createdAt = this.model.sets.get(set)?.filter.createdAt ?? Infinity;
    return isOld || madeAt < createdAt || this.plan.limits.maxRecordBytes !== undefined;
  }

  private wrong({ call, number, candidates }: Attempt, answer: string): never {
    const allowed = [...candidates.keys()].join(' or ') || 'nothing that was known';
    throw new Violation(
      `${call.verb} ${number} on ${call.set} ${described(call)}: ${answer}, not ${allowed}`,
    );
  }

  /** Adds what a call would answer now. */
  private expectOf(attempt: Attempt): void {
    const { call, isRepeat } = attempt;
    this.expect(attempt, expectedNow(this.model, call, { isRepeat }));
    if (this.isForgetful(call)) this.expect(attempt, expectedNow(this.model, call, { isRecorded: false }));
  }

  /** Whether the record of a call may be gone, so that it is executed anew. */
  private isForgetful({ operation: { id, origin } }: Call): boolean {
    const known = this.model.answers.get(id);
    if (!known) return false;
    return this.plan.limits.maxRecordBytes !== undefined || this.time.latest - known.at >= RECORDS_MS[origin];
  }

  private expect({ candidates, tentative }: Attempt, expected: Expected | undefined): void {
    if (expected) (this.isRunning ? tentative : candidates).set(expected.text, expected);
  }

  /** To be called when something has changed that calls under way may see. */
  private expectAnew(): void {
    for (const attempt of this.pending.values()) this.expectOf(attempt);
  }

  private advance(ms: number): void {
    this.time.now += ms;
    this.time.latest = Math.max(this.time.latest, this.time.now);
    // A clock that is set back is not monotonic.
    this.time.passed += Math.max(0, ms);
    this.model.clock.now = this.time.now;
    if (ms < 0) this.tally('clock set back');
    this.note(`time ${ms}`);
    this.expectAnew();
  }

  private runAll(commits: boolean): void {
    if (!commits) {
      this.lastFault = this.time.passed;
      this.isFaulty = true;
      this.tally('commit failed');
    }
    this.isRunning = true;
    this.environment.run(commits);
    this.isRunning = false;
    for (const { candidates, tentative } of this.pending.values()) {
      if (commits) for (const [text, expected] of tentative) candidates.set(text, expected);
      tentative.clear();
    }
    this.expectAnew();
  }

  /** Runs, commits and tells until nothing is under way. */
  private async settle(): Promise<void> {
    this.disk.full = false;
    for (let quiet = 0, turns = 0; this.pending.size > 0 || quiet < QUIET_TURNS; turns++) {
      if (turns > PATIENCE) {
        const hanging = [...this.pending.values()].map(({ number, call }) => `${call.verb} ${number}`);
        throw new Violation(`these hang: ${hanging.join(', ') || 'changes in the background'}`);
      }
      const { environment } = this;
      quiet = environment.canRun || environment.canTell ? 0 : quiet + 1;
      if (environment.canRun) this.runAll(true);
      else if (environment.canTell) environment.tell();
      await turn();
    }
  }

  private async restart(kill: boolean): Promise<void> {
    const unknown = this.pending.size;
    this.note(kill ? 'killed' : 'closed');
    if (kill) {
      this.pending.clear();
      this.environment.crash();
      this.tally(unknown > 0 ? 'killed while calls were under way' : 'killed');
    } else {
      await this.settle();
      await this.pump(this.store.close());
      this.tally('closed and opened');
    }
    await this.open();
  }

  private async open(): Promise<void> {
    this.environment = new MemoryEnvironment(this.disk, {
      ran: (puts) => this.ran(puts),
      ended: (committed) => this.ended(committed),
    });
    const { environment: current, disk } = this;
    const { maxRecordBytes, ...limits } = this.plan.limits;
    const options = {
      ...limits,
      ...(maxRecordBytes !== undefined && { maxRecordBytes }),
      clock: { now: () => this.time.now, monotonic: () => this.time.passed },
      random: {
        id: (bytes: number) => Buffer.from(this.random.bytes(bytes)).toString('hex'),
        seed: () => this.random.bytes(16),
      },
    };
    const lock = { release: () => undefined };
    this.store = await this.pump(
      EmbeddedStore.on(options, (session) =>
        Engine.on({ database: new Database(current), disk, lock }, session),
      ),
    );
  }

  /** Runs what waits until the work is done. */
  private async pump<T>(work: Promise<T>): Promise<T> {
    const state = { done: false };
    const mark = () => void (state.done = true);
    work.then(mark, mark);
    for (let turns = 0; !state.done; turns++) {
      if (turns > PATIENCE) throw new Violation('opening or closing the store hangs');
      if (this.environment.canRun) this.runAll(true);
      this.environment.tell();
      await turn();
    }
    return work;
  }

  private ran(puts: readonly Put[]): void {
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
      else this.executed(id, answer);
    }
    // A lease that finds nothing is not recorded, but may have made dead letters.
    const died = puts.find(({ table }) => table === 'dead');
    if (died && this.events.length === before)
      this.happened({ at: this.time.now, moved: died.key.toString('hex', 0, SCOPE_BYTES) });
    // A change that ends a sync ends it when it is made, and is recorded after that.
    for (const ended of ends) this.happened({ at: this.time.now, ended });
    for (const [name, { sync }] of this.model.sets) {
      const { maxSyncForgets: most } = this.plan.limits;
      if (sync && (sync.removed.size > most || sync.rowHashes > 4 * most))
        this.failure ??= `${name}: a sync goes on after more removals than may be noted`;
    }
  }

  private executed(id: string, answer: unknown): void {
    const call = this.calls.find(({ operation }) => operation.id === id);
    if (!call) {
      this.failure ??= `an operation is recorded that nobody sent: ${id}`;
      return;
    }
    if (this.model.answers.has(id) && !this.isForgetful(call) && !this.isOutdated(call))
      this.failure ??= `${call.verb} was executed again: ${id}`;
    this.happened({ at: this.time.now, call, answer });
    const known = this.model.answers.get(id);
    for (const attempt of this.pending.values())
      if (attempt.call.operation.id === id && known) this.expect(attempt, asAnswered(call, known.value));
  }

  private isOutdated(call: Call): boolean {
    return !KEYLESS.has(call.verb) && !this.model.current(call);
  }

  private happened(event: Event): void {
    this.events.push(event);
    this.model.apply(event);
    if ('ended' in event) this.syncEnded(event.ended);
    this.expectAnew();
  }

  private syncEnded({ id, state, reason }: SyncEnd): void {
    this.tally(`sync ${state}${reason === undefined ? '' : `, since ${reason}`}`);
    for (const attempt of this.pending.values()) {
      const { verb, sync } = attempt.call;
      const wanted = verb === 'commit-sync' ? 'committed' : verb === 'abandon-sync' ? 'abandoned' : undefined;
      if (sync === id && wanted === state)
        this.expect(attempt, { text: state, matches: (value) => value === state });
    }
  }

  private ended(committed: boolean): void {
    if (committed) this.committed = this.events.length;
    if (this.events.length === this.committed) return;
    this.events = this.events.slice(0, this.committed);
    this.model = Model.of(this.events, this.time.now);
    this.tally('changes undone');
  }

  private assertSound(): void {
    if (this.failure !== undefined) throw new Violation(this.failure);
  }

  private note(line: string): void {
    this.trace.push(line);
  }

  private tally(rule: string): void {
    this.exercised.set(rule, (this.exercised.get(rule) ?? 0) + 1);
  }
}

function described({ items, held, letters, sync, max, ms, verb, ttlMs }: Call): string {
  const parts = [
    ...items,
    ...held.map(({ lease, index, item }) => `${lease}.${index}=${item}`),
    ...letters.map(({ item }) => item),
    sync,
    ...(verb === 'lease' ? [`at most ${max}`] : []),
    ...(['lease', 'extend', 'release'].includes(verb) ? [`${ms} ms`] : []),
    ...(ttlMs === undefined ? [] : [`for ${ttlMs} ms`]),
  ];
  return parts.filter((part) => part !== '').join(', ');
}

/** A few of the values, chosen by a number. */
function some<T>(values: readonly T[], number: number): T[] {
  if (values.length === 0) return [];
  const from = number % 3 === 0 ? number % values.length : Math.max(0, values.length - 1 - (number % 4));
  return values.slice(from, from + 1 + (number % 3));
}

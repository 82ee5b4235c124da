import { createHash } from 'node:crypto';
import type { Filter, Part } from '#store';
import { Callers } from './callers.js';
import { OTHER_FINGERPRINT, type Call } from './calls.js';
import { assertImported, type Finished } from './copy.js';
import { ITEMS } from './items.js';
import { assertMissed } from './damaged.js';
import { FAULT_MS, Judge, refusalOf } from './judge.js';
import { SimulatedDisk } from './memory-environment.js';
import { Notes, Violation } from './notes.js';
import type { Sightings } from './sightings.js';
import { assertTidy } from './tidy.js';
import { turn } from './open-store.js';
import { TWIN, type Plan, type Step } from './plan.js';
import { MOST_DELAY_MS } from './specs.js';
import { Scheduler } from './scheduler.js';
import { send } from './store-calls.js';

export interface Outcome {
  readonly violation: string | undefined;
  readonly trace: readonly string[];
  readonly hash: string;
  readonly exercised: ReadonlyMap<string, number>;
}

const START = 1_800_000_000_000;

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
  const { trace, exercised } = history.notes;
  const hash = createHash('sha256').update(trace.join('\n')).digest('hex');
  return { violation, trace, hash, exercised };
}

class History {
  readonly notes = new Notes();
  private readonly time = { now: START, latest: START, passed: 0 };
  private readonly disk: SimulatedDisk;
  private readonly judge: Judge;
  private readonly scheduler: Scheduler;
  private readonly callers: Callers;
  /** Exports that have yet to be checked. */
  private readonly finished: Finished[] = [];

  constructor(private readonly plan: Plan) {
    const { time, notes } = this;
    const disk = new SimulatedDisk(time);
    this.disk = disk;
    this.judge = new Judge(plan.limits, time, disk, notes);
    this.scheduler = new Scheduler(plan, time, disk, this.judge, notes);
    this.callers = new Callers(plan, time);
  }

  async run(): Promise<void> {
    await this.scheduler.open();
    for (const { name } of this.plan.sets) if (name !== TWIN) await this.once({ verb: 'create', set: name });
    for (const step of this.plan.steps) {
      await this.take(step);
      this.judge.assertSound();
      await this.copy();
    }
    await this.end();
  }

  private async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'call':
        this.send(this.callers.next(step), false);
        break;
      case 'repeat':
        await this.repeat(step.number, step.alters);
        break;
      case 'run':
        this.scheduler.run(step.commits, step.full);
        break;
      case 'tell':
        this.scheduler.tell();
        break;
      case 'turns':
        for (let n = 0; n < step.number; n++) await turn();
        break;
      case 'settle':
        await this.scheduler.settle();
        break;
      case 'time':
        this.scheduler.advance(step.ms);
        break;
      case 'restart':
        await this.scheduler.restart(step.kill);
        break;
      case 'damage':
        await this.damage(step.kill);
    }
    await turn();
  }

  /** Checks that all faults and restarts have left everything in place, and that queued entries are handed out. */
  private async end(): Promise<void> {
    await this.scheduler.settle();
    await this.copy();
    this.scheduler.advance(FAULT_MS);
    await this.lookAtAll();
    this.assertTidy();
    this.scheduler.advance(FAULT_MS);
    this.judge.isOver = true;
    await this.lookAtAll();
    await this.scheduler.restart(true);
    await this.lookAtAll();
    for (const { name } of this.plan.sets) await this.once({ verb: 'export', set: name });
    await this.copy();
    this.scheduler.advance(200_000);
    for (const { name, kind } of this.plan.sets) {
      if (kind === 'visited-set') await this.drain(name);
    }
    await this.scheduler.restart(false);
    await this.lookAtAll();
    this.assertTidy();
  }

  private async damage(kill: boolean): Promise<void> {
    const { disk, callers, time, notes, scheduler, plan } = this;
    await scheduler.restart(kill);
    const { model } = this.judge.truth;
    const { random } = scheduler;
    await assertMissed(disk, { model, callers, limits: plan.limits, time, random, notes });
  }

  private assertTidy(): void {
    assertTidy(this.disk, this.judge.truth.model);
  }

  private async lookAtAll(): Promise<void> {
    for (const { name, kind, perHost } of this.plan.sets) {
      await this.once({ verb: 'open', set: name });
      if (!this.judge.truth.model.sets.has(name)) continue;
      await this.once({ verb: 'check', set: name, items: ITEMS });
      await this.once({ verb: 'describe', set: name });
      if (kind !== 'visited-set') continue;
      await this.once({ verb: 'dead-letters', set: name });
      await this.once({ verb: 'entries', set: name });
      if (perHost) await this.once({ verb: 'hosts', set: name });
    }
  }

  /** Checks that the exports can be imported elsewhere. */
  private async copy(): Promise<void> {
    const { plan, time, scheduler } = this;
    const { random } = scheduler;
    for (const one of this.finished.splice(0)) {
      await assertImported(one, { limits: plan.limits, time, random });
      this.notes.tally(one.set ? 'copied' : 'copied while it changed');
    }
  }

  private exported(filter: Filter, parts: readonly Part[], seen: Sightings): void {
    const { now } = this.time;
    const set = seen.unchanged?.imported(filter, { now }, this.plan.limits);
    this.finished.push({ filter, parts, seen, set });
    if (set) this.callers.learnExport({ filter, parts, set });
  }

  private async drain(set: string): Promise<void> {
    const { model } = this.judge.truth;
    for (let left = 200; model.sets.has(set) && left > 0; left--) {
      if (model.sets.get(set)?.filter.perHost) this.scheduler.advance(MOST_DELAY_MS);
      await this.once({ verb: 'lease', set, max: 3, ms: 1_000 });
      const held = this.callers.held
        .splice(0)
        .filter(({ generation }) => generation === this.callers.handle(set)?.generation);
      if (held.length === 0) break;
      this.notes.tally('drained');
      await this.once({ verb: 'ack', set, held });
    }
    const left = this.judge.truth.model.sets.get(set)?.queue;
    if (left && !left.isEmpty) throw new Violation(`${set}: no lease finds the remaining entries`);
  }

  /** Sends one call and waits for its end. */
  private async once(call: Partial<Call> & Pick<Call, 'verb' | 'set'>): Promise<void> {
    this.send(this.callers.callOf(call), false);
    await this.scheduler.settle();
    this.judge.assertSound();
  }

  private async repeat(number: number, alters: boolean): Promise<void> {
    const call = this.callers.earlier(number);
    if (!alters) this.send(call, true);
    if (!call || !alters) return;
    await this.scheduler.settle();
    // Without its record, the repeat would run as another call.
    if (!this.judge.truth.isRecorded(call)) return;
    this.send({ ...call, operation: { ...call.operation, fingerprint: OTHER_FINGERPRINT } }, true);
    await this.scheduler.settle();
  }

  private send(call: Call | undefined, isRepeat: boolean): void {
    if (!call) return;
    const { judge, callers, scheduler } = this;
    const attempt = judge.begin(call, isRepeat, scheduler.canTell);
    const filter = callers.filterOf(call);
    void send(scheduler.store, filter, call, () => attempt.read++).then(
      (answer) =>
        judge.end(attempt, () => {
          judge.answered(attempt, answer);
          callers.learn(call, answer);
          if (answer.listed) callers.learnEntries(call, answer.listed, attempt.listing);
          if (filter && answer.parts) this.exported(filter, answer.parts, attempt.seen);
        }),
      (error: unknown) =>
        judge.end(attempt, () => {
          callers.learnRefusal(call, refusalOf(error));
          judge.failed(attempt, error);
        }),
    );
  }
}

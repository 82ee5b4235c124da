import { Database } from '../../libs/store/src/embedded/database.js';
import { EmbeddedStore } from '../../libs/store/src/embedded/embedded-store.js';
import { Engine } from '../../libs/store/src/embedded/engine.js';
import { Random } from '../support/random.js';
import type { Judge } from './judge.js';
import { MemoryEnvironment, type SimulatedDisk } from './memory-environment.js';
import { Violation, type Notes } from './notes.js';
import type { Plan } from './plan.js';

export interface Time {
  /** Of the clock, which may be set back. */
  now: number;
  latest: number;
  /** Of the monotonic clock. */
  passed: number;
}

/** Turns in which nothing happens, after which what is under way hangs. */
const PATIENCE = 500;
const QUIET_TURNS = 4;

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Decides when changes run, and whether they are committed, in stores that follow each other on one disk. */
export class Scheduler {
  store!: EmbeddedStore;
  private environment!: MemoryEnvironment;
  private readonly random: Random;

  constructor(
    private readonly plan: Plan,
    private readonly time: Time,
    private readonly disk: SimulatedDisk,
    private readonly judge: Judge,
    private readonly notes: Notes,
  ) {
    this.random = new Random(plan.seed ^ 0x5eed);
  }

  get canTell(): boolean {
    return this.environment.canTell;
  }

  tell(): void {
    this.environment.tell();
  }

  /** Runs what waits, if anything does. */
  run(commits: boolean, full: boolean): void {
    if (!this.environment.canRun) return;
    this.notes.note(`run, ${commits ? 'committed' : full ? 'disk full' : 'commit failed'}`);
    this.disk.full = full;
    this.runAll(commits);
  }

  advance(ms: number): void {
    const { time } = this;
    time.now += ms;
    time.latest = Math.max(time.latest, time.now);
    time.passed += Math.max(0, ms);
    this.judge.truth.model.clock.now = time.now;
    if (ms < 0) this.notes.tally('clock set back');
    this.notes.note(`time ${ms}`);
    this.judge.changed();
  }

  /** Runs, commits and tells until nothing is under way. */
  async settle(): Promise<void> {
    this.disk.full = false;
    for (let quiet = 0, turns = 0; this.judge.underWay.length > 0 || quiet < QUIET_TURNS; turns++) {
      if (turns > PATIENCE)
        throw new Violation(`these hang: ${this.judge.underWay.join(', ') || 'changes in the background'}`);
      const { environment } = this;
      quiet = environment.canRun || environment.canTell ? 0 : quiet + 1;
      if (environment.canRun) this.runAll(true);
      else if (environment.canTell) environment.tell();
      await turn();
    }
  }

  async restart(kill: boolean): Promise<void> {
    this.notes.note(kill ? 'killed' : 'closed');
    if (kill) {
      this.judge.died();
      this.environment.crash();
    } else {
      await this.settle();
      await this.pump(this.store.close());
      this.notes.tally('closed and opened');
    }
    await this.open();
  }

  async open(): Promise<void> {
    this.environment = new MemoryEnvironment(this.disk, this.judge);
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

  private runAll(commits: boolean): void {
    this.judge.running(() => this.environment.run(commits), commits);
  }
}

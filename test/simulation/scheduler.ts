import type { EmbeddedStore } from '../../libs/store/src/embedded/embedded-store.js';
import { Random } from '../support/random.js';
import type { Judge } from './judge.js';
import { MemoryEnvironment, type SimulatedDisk } from './memory-environment.js';
import { Violation, type Notes } from './notes.js';
import { openStore, PATIENCE, pump, turn, type Time } from './open-store.js';
import type { Plan } from './plan.js';
import { assertTidy } from './tidy.js';

const QUIET_TURNS = 4;

/** Decides when changes run and whether they commit, in successive stores on one disk. */
export class Scheduler {
  store!: EmbeddedStore;
  private environment!: MemoryEnvironment;
  readonly random: Random;
  /** Whether a commit has failed since the store was opened. */
  private hasFailed = false;

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

  /** Runs waiting changes, if any. */
  run(commits: boolean, full: boolean): void {
    if (!this.environment.canRun) return;
    this.notes.note(`run, ${commits ? 'committed' : full ? 'disk full' : 'commit failed'}`);
    this.disk.full = full;
    this.hasFailed ||= !commits;
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

  /** Runs, commits and tells until nothing is in progress. */
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
    // After a failed commit, leftovers stay until the next call finds them.
    if (!this.hasFailed) assertTidy(this.disk, this.judge.truth.model);
  }

  async restart(kill: boolean): Promise<void> {
    this.notes.note(kill ? 'killed' : 'closed');
    if (kill) {
      this.judge.died();
      this.environment.crash();
      // A process's timers end with it.
      void this.store.close().catch(() => undefined);
    } else {
      await this.settle();
      await this.pump(this.store.close());
      this.notes.tally('closed and opened');
    }
    await this.open();
  }

  async open(): Promise<void> {
    const { disk, plan, time, random } = this;
    this.hasFailed = false;
    const environment = new MemoryEnvironment(disk, this.judge);
    this.environment = environment;
    this.store = await this.pump(openStore({ environment, disk }, plan.limits, time, random));
  }

  /** Runs waiting changes until the work is done. */
  pump<T>(work: Promise<T>): Promise<T> {
    return pump(work, this.environment, () => this.runAll(true));
  }

  private runAll(commits: boolean): void {
    this.judge.running(() => this.environment.run(commits), commits);
  }
}

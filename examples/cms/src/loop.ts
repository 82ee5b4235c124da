import { setTimeout as sleep } from 'node:timers/promises';

/** A loop's work. */
export interface Work {
  readonly name: string;
  /** Does all pending work. */
  readonly round: (signal: AbortSignal) => Promise<void>;
  /** Time until the next round, in ms. `wake` ends it early. */
  readonly restMs: () => number;
  readonly log: (text: string) => void;
}

const [FIRST_RETRY_MS, LAST_RETRY_MS] = [250, 30_000];
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Runs rounds until it is stopped. If a round fails, logs the error and runs it again later. */
export class Loop {
  private readonly stopping = new AbortController();
  private readonly ran: Promise<void>;
  private resting = new AbortController();
  private isWoken = false;

  constructor(private readonly work: Work) {
    this.ran = this.run();
  }

  /** Starts the next round now, because work is pending. */
  wake(): void {
    this.isWoken = true;
    this.resting.abort();
  }

  /** Resolves when the current round has ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.resting.abort();
    await this.ran;
  }

  private async run(): Promise<void> {
    let failures = 0;
    while (!this.stopping.signal.aborted) {
      this.isWoken = false;
      try {
        await this.work.round(this.stopping.signal);
        failures = 0;
        await this.rest(this.work.restMs());
      } catch (error) {
        if (this.stopping.signal.aborted) return;
        this.work.log(`${this.work.name}: ${error instanceof Error ? error.message : String(error)}`);
        await this.rest(Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures++));
      }
    }
  }

  private async rest(ms: number): Promise<void> {
    if (this.isWoken || this.stopping.signal.aborted) return;
    this.resting = new AbortController();
    const signal = this.resting.signal;
    await sleep(Math.min(LONGEST_TIMER_MS, ms), undefined, { signal }).catch(() => undefined);
  }
}

import { Interrupted } from './ending.js';

/** How long work in progress may take after the first signal, unless a command asks for more. */
const GRACE_MS = 5_000;
/** How long the final clean-up may take after work was cancelled. */
const LAST_MS = 5_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * The user's request to end the program. `soft`: start no new work, but let work in progress finish. `hard`: cancel
 * that too. The first signal is soft, and becomes hard after GRACE_MS. The second is hard immediately. If the program
 * still runs LAST_MS later, it ends at once.
 */
export class Interruption {
  private readonly softly = new AbortController();
  private readonly hardly = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private lastTimer: NodeJS.Timeout | undefined;
  private lastResort: () => void = () => undefined;

  private isPatient = false;

  /** Lets work in progress take as long as it needs. Only a second signal cancels it. */
  bePatient(): void {
    this.isPatient = true;
  }

  get soft(): AbortSignal {
    return this.softly.signal;
  }

  get hard(): AbortSignal {
    return this.hardly.signal;
  }

  /**
   * Listens for signals to the process. `lastResort` ends the process if nothing else does. Returns a function that
   * stops listening.
   */
  listen(lastResort: () => void): () => void {
    const onSignal = (): void => {
      if (this.soft.aborted) this.giveUp();
      else this.begin();
    };
    this.lastResort = lastResort;
    for (const name of SIGNALS) process.on(name, onSignal);
    return () => {
      for (const name of SIGNALS) process.off(name, onSignal);
      clearTimeout(this.timer);
      clearTimeout(this.lastTimer);
    };
  }

  begin(): void {
    this.softly.abort(new Interrupted());
    if (!this.isPatient) this.timer = setTimeout(() => this.giveUp(), GRACE_MS).unref();
  }

  giveUp(): void {
    this.softly.abort(new Interrupted());
    this.hardly.abort(new Interrupted());
    // Ends calls that nothing cancels, such as one that retries while the service is unavailable.
    this.lastTimer ??= setTimeout(() => this.lastResort(), LAST_MS).unref();
  }
}

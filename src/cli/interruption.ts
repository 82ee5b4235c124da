import { Interrupted } from './ending.js';

/** How long what is under way may take to end by itself, unless a command asks for more. */
const GRACE_MS = 5_000;
/** For the last clean-up after the second signal. */
const LAST_MS = 5_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * The wish of the user to end. `soft` begins nothing new and lets what is under way end; `hard` gives it up. The first
 * signal is soft, and hard after a while; the second is hard at once.
 */
export class Interruption {
  private readonly softly = new AbortController();
  private readonly hardly = new AbortController();
  private timer: NodeJS.Timeout | undefined;

  private isPatient = false;

  /** What is under way may take as long as it takes: the user decides, by a second signal. */
  bePatient(): void {
    this.isPatient = true;
  }

  get soft(): AbortSignal {
    return this.softly.signal;
  }

  get hard(): AbortSignal {
    return this.hardly.signal;
  }

  /** Listens to the signals of the process. `lastResort` ends it if nothing else does. The result stops listening. */
  listen(lastResort: () => void): () => void {
    const onSignal = (): void => {
      if (this.soft.aborted) {
        setTimeout(lastResort, LAST_MS).unref();
        this.giveUp();
      } else {
        this.begin();
      }
    };
    for (const name of SIGNALS) process.on(name, onSignal);
    return () => {
      for (const name of SIGNALS) process.off(name, onSignal);
      clearTimeout(this.timer);
    };
  }

  begin(): void {
    this.softly.abort(new Interrupted());
    if (!this.isPatient) this.timer = setTimeout(() => this.giveUp(), GRACE_MS).unref();
  }

  giveUp(): void {
    this.softly.abort(new Interrupted());
    this.hardly.abort(new Interrupted());
  }
}

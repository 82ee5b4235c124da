import { setMaxListeners } from 'node:events';
import { Injectable } from '@nestjs/common';

/** Whether the service is on its way out: it then takes nothing new. */
@Injectable()
export class Lifecycle {
  /** Since `beginShutdown`. */
  shuttingDown = false;
  private readonly end = new AbortController();
  private readonly grace = new AbortController();

  constructor() {
    // Every stream that waits listens: many are no leak.
    setMaxListeners(0, this.grace.signal);
  }

  /** Aborted when the service begins to end. */
  get ending(): AbortSignal {
    return this.end.signal;
  }

  /** Aborted when the requests in flight have had their time: streams then end with a last line that says so. */
  get graceOver(): AbortSignal {
    return this.grace.signal;
  }

  beginShutdown(): void {
    this.shuttingDown = true;
    this.end.abort();
  }

  endGrace(): void {
    this.grace.abort();
  }
}

import { setMaxListeners } from 'node:events';
import { Injectable } from '@nestjs/common';

/** The service's shutdown. Once it has begun, the service accepts no new requests. */
@Injectable()
export class Lifecycle {
  /** True after `beginShutdown`. */
  shuttingDown = false;
  private readonly end = new AbortController();
  private readonly grace = new AbortController();

  constructor() {
    // Every waiting stream adds a listener, so a large number is not a leak.
    setMaxListeners(0, this.grace.signal);
  }

  /** Aborted when the service begins to end. */
  get ending(): AbortSignal {
    return this.end.signal;
  }

  /** Aborted when the grace time for requests in flight ends. Streams then end with a last line that says so. */
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

import type { Connection } from './connection.js';
import type { RedisFilter } from './filter.js';

/** Placeholder until the subscription is in. */
export class QueueWatches {
  constructor(
    private readonly connection: Connection,
    private readonly timeoutMs: number,
  ) {}

  watch(_filter: RedisFilter, wake: () => void): () => void {
    const timer = setInterval(wake, 1000);
    return () => clearInterval(timer);
  }

  close(): void {}
}

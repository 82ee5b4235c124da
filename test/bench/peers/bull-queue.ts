import { createHash } from 'node:crypto';
import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';

const QUEUE = 'peer';
const AT_ONCE = 100;

/**
 * The most widely used job queue on Node, with one job per URL. The job's id is its URL's hash, so that a URL is queued
 * once. For this, its documentation says to keep completed jobs.
 */
export class BullQueue {
  private readonly queue: Queue<{ url: string }>;

  constructor(private readonly redis: Redis) {
    this.queue = new Queue(QUEUE, { connection: redis });
  }

  waiting(): Promise<number> {
    return this.queue.getWaitingCount();
  }

  /** Queues the URLs that were never queued, `batch` at a time. */
  async discover(urls: readonly string[], batch: number): Promise<void> {
    for (let from = 0; from < urls.length; from += batch) {
      await this.queue.addBulk(
        urls.slice(from, from + batch).map((url) => ({
          name: 'url',
          data: { url },
          opts: { jobId: createHash('sha1').update(url).digest('hex') },
        })),
      );
    }
  }

  /** Lets a worker that does nothing take `jobs` jobs. */
  async work(jobs: number): Promise<void> {
    const connection = this.redis.duplicate({ maxRetriesPerRequest: null });
    const worker = new Worker(QUEUE, async () => undefined, { connection, concurrency: AT_ONCE });
    try {
      let done = 0;
      await new Promise<void>((resolve, reject) => {
        worker.on('error', reject);
        worker.on('failed', (_, error) => reject(error));
        worker.on('completed', () => {
          if (++done === jobs) resolve();
        });
      });
    } finally {
      await worker.close();
      connection.disconnect();
    }
  }

  /** Forgets everything that was queued. */
  async reset(): Promise<void> {
    await this.queue.obliterate({ force: true });
  }

  async close(): Promise<void> {
    await this.queue.close();
  }
}

import type { Redis } from 'ioredis';

const SEEN = 'peer:seen';
const TO_DO = 'peer:to-do';
const DOING = 'peer:doing';

/**
 * The queue that is built most often with Redis: a set of the URLs, a list of those to do and a list of those that a worker
 * has. Mark and enqueue are two steps, nothing is safe to repeat, what a lost worker had must be found by other means, and
 * no URL can be taken out of the list but by a search through it.
 */
export class ListQueue {
  constructor(private readonly redis: Redis) {}

  async reset(): Promise<void> {
    await this.redis.del(SEEN, TO_DO, DOING);
  }

  length(): Promise<number> {
    return this.redis.llen(TO_DO);
  }

  /** Marks URLs, so many at a time, and queues the new ones. */
  async discover(urls: readonly string[], batch: number): Promise<void> {
    for (let from = 0; from < urls.length; from += batch) {
      const some = urls.slice(from, from + batch);
      const marked = this.redis.pipeline();
      for (const url of some) marked.sadd(SEEN, url);
      const answers = (await marked.exec()) ?? [];
      const fresh = some.filter((_, i) => answers[i]?.[1] === 1);
      if (fresh.length > 0) await this.redis.lpush(TO_DO, ...fresh);
    }
  }

  /** Takes up to so many URLs and acknowledges them. Answers how many there were. */
  async work(max: number): Promise<number> {
    const leased = this.redis.pipeline();
    for (let n = 0; n < max; n++) leased.lmove(TO_DO, DOING, 'RIGHT', 'LEFT');
    const urls = ((await leased.exec()) ?? []).map(([, url]) => url).filter((url) => typeof url === 'string');
    const acknowledged = this.redis.pipeline();
    for (const url of urls) acknowledged.lrem(DOING, -1, url);
    await acknowledged.exec();
    return urls.length;
  }
}

import type { Redis } from 'ioredis';

const SEEN = 'peer:seen';
const TO_DO = 'peer:to-do';
const DOING = 'peer:doing';

/**
 * The most common queue in Redis: a set of known URLs, a list of waiting ones, and a list of those that workers hold.
 * Adding to the set and queueing are two steps, and no call is safe to repeat. A lost worker's URLs must be found by
 * other means, and removing a URL takes a search through the list.
 */
export class ListQueue {
  constructor(private readonly redis: Redis) {}

  async reset(): Promise<void> {
    await this.redis.del(SEEN, TO_DO, DOING);
  }

  length(): Promise<number> {
    return this.redis.llen(TO_DO);
  }

  /** Adds URLs to the set, `batch` at a time, and queues the new ones. */
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

  /** Takes up to `max` URLs and acknowledges them. Returns the number taken. */
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

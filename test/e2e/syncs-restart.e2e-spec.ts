import { rm, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { startApp } from '../support/app.js';
import { startRedis } from '../support/redis-server.js';
import { startProcess, type ServiceProcess } from '../support/service-process.js';
import { Synced } from '../support/synced.js';

const url = (n: number | string): string => `https://example.org/${n}`;
const urls = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => url(from + i));
const all = (count: number, result: unknown): unknown[] => Array<unknown>(count).fill(result);

describe('syncs of a service that is killed, embedded store', () => {
  it('continue where they were, and end once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'unseen-syncs-'));
    let process: ServiceProcess | undefined;
    const start = async (): Promise<{ url: string }> => {
      process = await startProcess({ DATA_DIR: folder });
      return { url: await process.url() };
    };
    try {
      const set = await Synced.visitedSet(await start());
      await set.batch('discover', urls(0, 10));
      await set.batch('visit', urls(10, 100));
      const { id } = await set.open({ capacity: 500 });
      await set.listed(id, [...urls(10, 70), url('new')]);
      await set.batch('forget', [url(10), url(99)]);
      const open = await set.sync(id);
      await process!.clean();

      const again = set.through(await start());
      expect(await again.sync(id)).toEqual(open);
      expect((await again.list(id, [url(10), url(99), url(70)])).body).toMatchObject({
        results: ['forgotten', 'forgotten', 'kept'],
      });
      const committed = await again.committed(id);
      expect(committed).toMatchObject({ state: 'committed', wouldForget: 28 });
      await process!.clean();

      const last = set.through(await start());
      expect(await last.sync(id)).toEqual(committed);
      const kept = [...urls(0, 10), ...urls(11, 71), url('new')];
      expect(await last.batch('check', kept)).toEqual(all(71, 'seen'));
      expect(await last.batch('check', [url(10), ...urls(71, 100)])).toEqual(all(30, 'unseen'));
      expect(await last.describe()).toMatchObject({ items: 71, capacity: 500, queue: { waiting: 10 } });
    } finally {
      await process?.clean();
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe('syncs of several instances on one Redis', () => {
  it('are shared: any instance takes lines, and all follow one’s commit', async () => {
    const redis = await startRedis();
    const apps = await Promise.all([1, 2].map(() => startApp({ REDIS_URL: redis.url })));
    try {
      const one = await Synced.visitedSet(apps[0]!);
      const two = one.through(apps[1]!);
      await one.batch('visit', urls(0, 100));
      // Gives the other instance a handle.
      expect(await two.batch('check', [url(0), url('absent')])).toEqual(['seen', 'unseen']);
      const { id } = await one.open({ capacity: 20_000, errorRate: 0.0001 });
      const parts = [urls(0, 40), urls(30, 60)];
      const kept = await Promise.all([one.listed(id, parts[0]!), two.listed(id, parts[1]!)]);
      expect(kept).toEqual([all(40, 'kept'), all(30, 'kept')]);
      expect(await two.batch('visit', [url('visited')])).toEqual(['new']);
      expect(await two.batch('forget', [url(0)])).toEqual(['forgotten']);
      expect(await one.listed(id, [url(0)])).toEqual(['forgotten']);
      expect(await two.sync(id)).toEqual(await one.sync(id));

      await one.committed(id);
      // That handle still has the old layers, but its calls must work on the new ones.
      expect(await two.batch('visit', [url(1), url(99), url('later')])).toEqual(['seen', 'new', 'new']);
      expect(await two.batch('check', [...urls(1, 60), url('visited')])).toEqual(all(60, 'seen'));
      expect(await two.batch('forget', [url(1), url(70)])).toEqual(['forgotten', 'absent']);
      expect((await two.list(id, [url(1)])).body).toMatchObject({ code: 'SYNC_ENDED' });
      expect(await two.describe()).toMatchObject({ items: 61, capacity: 20_000 });
      expect(await one.describe()).toMatchObject({ items: 61, capacity: 20_000 });
    } finally {
      for (const app of apps) await app.close();
      await redis.stop();
    }
  });

  it('outlive the instance that opened them', async () => {
    const redis = await startRedis();
    try {
      const first = await startApp({ REDIS_URL: redis.url });
      const set = await Synced.visitedSet(first);
      await set.batch('discover', urls(0, 10));
      await set.batch('visit', urls(10, 100));
      const { id } = await set.open();
      await set.listed(id, urls(10, 70));
      await first.close();
      const second = await startApp({ REDIS_URL: redis.url });
      try {
        const again = set.through(second);
        expect(await again.sync(id)).toMatchObject({ state: 'open', listed: 60 });
        await again.listed(id, [url(70)]);
        expect(await again.committed(id)).toMatchObject({ state: 'committed', wouldForget: 29 });
        expect(await again.batch('check', urls(0, 71))).toEqual(all(71, 'seen'));
        expect(await again.batch('check', urls(71, 100))).toEqual(all(29, 'unseen'));
      } finally {
        await second.close();
      }
    } finally {
      await redis.stop();
    }
  });
});

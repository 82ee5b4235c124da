import { rm, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { startProcess, type ServiceProcess } from '../support/service-process.js';
import { Synced } from '../support/synced.js';

const url = (n: number | string): string => `https://example.org/${n}`;
const urls = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => url(from + i));
const all = (count: number, result: unknown): unknown[] => Array<unknown>(count).fill(result);

describe('syncs of a service that is killed, embedded store', () => {
  it('go on where they were, and end once', async () => {
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

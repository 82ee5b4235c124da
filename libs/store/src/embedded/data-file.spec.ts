import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createFilter, keys, operation, positions, Workbench } from './testing/fixtures.js';

const bench = new Workbench();
afterEach(() => bench.tidy());

describe('a data file that LMDB could not survive', () => {
  it.each([
    ['of a few bytes', Buffer.from('junk!!')],
    ['of something else', Buffer.alloc(100_000, 0x5a)],
    ['cut to its first page', undefined],
  ])('%s is refused, with advice', async (_, bytes) => {
    const path = join(await bench.dataDir(), 'data.mdb');
    await (await bench.open()).close();
    if (bytes) writeFileSync(path, bytes);
    else truncateSync(path, 4096);
    await expect(bench.open()).rejects.toThrow(/data.mdb is damaged \(.*\): restore a copy of the directory/);
  });

  it.each(['first', 'second'])('is refused if its %s page is not marked as a meta page', async (page) => {
    const path = join(await bench.dataDir(), 'data.mdb');
    await (await bench.open()).close();
    const file = readFileSync(path);
    const at = (page === 'first' ? 0 : file.readUInt32LE(META.pageSize)) + META.kind;
    file[at] = (file[at] as number) ^ 0x8e;
    writeFileSync(path, file);
    await expect(bench.open()).rejects.toThrow(/data.mdb is damaged/);
  });

  it('cut short is refused or causes STORE_DATA_LOST, and never looks empty', async () => {
    const path = join(await bench.dataDir(), 'data.mdb');
    const store = await bench.open();
    const filter = await createFilter(store, { name: 'seen', capacity: 200_000 });
    await store.counters.add(filter, positions(filter, keys(20_000)), operation());
    await store.close();
    truncateSync(path, Math.floor(statSync(path).size * 0.9));
    const answer = bench
      .open()
      .then(async (again) =>
        again.counters.check(await again.open('seen', 'filter'), positions(filter, keys(10))),
      );
    await expect(answer).rejects.toThrow(/data.mdb is damaged|filter "seen" has lost data/);
  });
});

/** Offsets of fields in a meta page. */
const META = { kind: 18, pageSize: 48, commit: 152, header: 24, end: 168 };

describe('a data file in which a power failure has undone commits', () => {
  it('opens as LMDB leaves it, with the restored commit in both meta pages', async () => {
    const path = join(await bench.dataDir(), 'data.mdb');
    const store = await bench.open();
    const filter = await createFilter(store, { name: 'seen' });
    await store.counters.add(filter, positions(filter, keys(100)), operation());
    await store.close();

    const file = readFileSync(path);
    const pageSize = file.readUInt32LE(META.pageSize);
    const [first, second] = [0, pageSize].map((at) => file.readBigUInt64LE(at + META.commit)) as [
      bigint,
      bigint,
    ];
    const [kept, other] = first > second ? [0, pageSize] : [pageSize, 0];
    file.copy(file, other + META.header, kept + META.header, kept + META.end);
    file.writeBigUInt64LE((first > second ? first : second) - 1n, other + META.commit);
    writeFileSync(path, file);

    for (let start = 0; start < 2; start++) {
      const again = await bench.open();
      const seen = await again.open('seen', 'filter');
      expect([...(await again.counters.check(seen, positions(seen, keys(100))))]).not.toContain(0);
      await again.close();
    }
  });
});

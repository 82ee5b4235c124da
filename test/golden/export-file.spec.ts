import { mkdtemp, readFile as readBytes, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { positionsOf } from '#bloom';
import { encodeExportFile } from '#store';
import { EmbeddedStore } from '#store/embedded';
import { deadline, made } from '../contract/calls.js';
import { collect, exportFile, importFile, readFile } from '../support/export-files.js';

/**
 * Exports in each version of the format. They must never change. Each has a visited set with five URLs: the second was
 * acknowledged, and the first and third were leased once. In version 2, the first has low priority, and the third is
 * scheduled.
 */
const GOLDEN = (version: number): string => join('test', 'golden', `export-v${version}.unseen`);
const SCHEDULED_AT = 1_700_000_000_000;
const URLS = Array.from({ length: 5 }, (_, i) => `https://example.org/${i + 1}`);

describe.each([1, 2])('the golden export of version %i', (version) => {
  it('decodes to its original contents', async () => {
    const { header, parts } = await readFile(await readBytes(GOLDEN(version)));
    expect({ ...header, seed: Buffer.from(header.seed).toString('hex') }).toEqual({
      id: '01234567-89ab-cdef-0123-456789abcdef',
      name: 'golden',
      kind: 'visited-set',
      type: 'counting',
      semantics: 'set',
      capacity: 40,
      errorRate: 0.001,
      geometry: {
        hashScheme: 1,
        cellBits: 4,
        hashes: 9,
        pageCells: 512,
        pagesPerSegment: 1,
        segments: 2,
      },
      seed: '000102030405060708090a0b0c0d0e0f',
      urlProfile: { base: 'safe' },
      generation: '0123456789abcdef',
      createdAt: 1_700_000_000_000,
      exportedAt: 1_700_000_000_001,
    });
    expect(parts.at(-1)).toEqual({
      type: 'counts',
      counts: { items: 5, added: 5, duplicate: 1, removed: 0, refused: 1 },
      layerItems: [5],
    });
    const entries = parts.flatMap((part) => (part.type === 'queue' ? part.entries : []));
    const order = (n: number) => ({ priority: entries[n]?.priority, scheduledAt: entries[n]?.scheduledAt });
    expect([order(2), order(3)]).toEqual(
      version === 1
        ? [{}, {}]
        : [{ priority: 'low' }, { priority: undefined, scheduledAt: SCHEDULED_AT }],
    );
    if (version < 2) return;
    expect(await collect(encodeExportFile(header, given(parts)))).toEqual(await readBytes(GOLDEN(version)));
  });

  it('imports as a filter with its items, whose export has the same contents', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'unseen-golden-'));
    const store = await EmbeddedStore.open({ dataDir });
    try {
      const golden = await readBytes(GOLDEN(version));
      const filter = await importFile(store, golden, made());
      const keys = [...URLS, 'https://example.org/6'];
      const positions = positionsOf(keys, filter.seed, filter.geometry);
      expect([...(await store.counters.check(filter, positions, deadline()))]).toEqual([1, 1, 1, 1, 1, 0]);
      const before = await readFile(golden);
      const after = await readFile(await exportFile(store, filter));
      expect(after.parts).toEqual(before.parts);
      expect(after.header.geometry).toEqual(before.header.geometry);
      const leased = await store.queue.lease(filter, 10, 1_000, made());
      expect(leased.map(({ payload, attempt }) => [payload, attempt])).toEqual([
        // Segment by segment, each in its own order.
        [URLS[3], 1],
        [URLS[4], 1],
        ...(version === 1 ? [[URLS[0], 2]] : []),
        [URLS[2], 2],
        ...(version === 1 ? [] : [[URLS[0], 2]]),
      ]);
    } finally {
      await store.close();
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});

async function* given<T>(values: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* values;
}

import { describe, expect, it } from '@jest/globals';
import { encodeExportFile, exportHeader, StoreError, type Part } from '#store';
import { collect, exportFile, importFile, readFile, specOf } from '../support/export-files.js';
import { Random } from '../support/random.js';
import {
  add,
  check,
  discover,
  expectRefusal,
  items,
  made,
  makeFilter,
  remove,
  SEGMENTED,
  type FilterOptions,
} from './calls.js';
import type { Subject } from './subject.js';

async function* given(
  parts: readonly Part[],
  before: () => Promise<void>,
): AsyncGenerator<Part, void, undefined> {
  for (const part of parts) {
    await before();
    yield part;
  }
}

const ROUNDS = 60;
const KINDS: readonly FilterOptions[] = [{}, { semantics: 'multiset' }, { type: 'standard' }];

export function importsContract(subject: Subject): void {
  /** A small visited set in export format, under a new name. */
  const exported = async () => {
    const { store } = subject;
    const filter = await makeFilter(store, { kind: 'visited-set', segmentation: SEGMENTED });
    await discover(store, filter, items(50));
    const { header, parts } = await readFile(await exportFile(store, filter));
    return { spec: specOf(header, `${filter.name}.copy`), parts };
  };

  describe('an import', () => {
    it('under a name that exists reads nothing', async () => {
      const { store } = subject;
      const { spec, parts } = await exported();
      await makeFilter(store, { name: spec.name });
      let read = 0;
      const counted = given(parts, async () => {
        read++;
      });
      await expectRefusal(store.transfer.import(spec, counted, made()), 'FILTER_EXISTS');
      expect(read).toBe(0);
    });

    it('is not listed until its last part has arrived, and displaces no other filter from a page', async () => {
      const { store } = subject;
      const { spec, parts } = await exported();
      const neighbour = `${spec.name}.later`;
      await makeFilter(store, { name: neighbour, kind: spec.kind });
      const listed = async (limit: number) => {
        const { filters, next } = await store.list(spec.kind, limit, undefined, spec.name);
        return { names: filters.map(({ name }) => name), next };
      };
      const seen: unknown[] = [];
      const watched = given(parts, async () => void seen.push(await listed(1)));
      await store.transfer.import(spec, watched, made());
      expect(seen).toEqual(parts.map(() => ({ names: [neighbour], next: undefined })));
      expect(await listed(2)).toEqual({ names: [spec.name, neighbour], next: undefined });
    });

    it('of an export has an entry for every visited item, even if items were queued during the export', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { kind: 'visited-set', capacity: 5_000, errorRate: 1e-9 });
      await discover(store, filter, items(2_000));
      const meanwhile = items(500, 'queued meanwhile');
      const parts: Part[] = [];
      for await (const part of store.transfer.export(filter)) {
        if (parts.length === 0) await discover(store, filter, meanwhile);
        parts.push(part);
      }
      const spec = { ...specOf({ ...filter, id: '', exportedAt: 0 }), name: `${filter.name}.copy` };
      const copied = await store.transfer.import(
        spec,
        given(parts, async () => undefined),
        made(),
      );
      const visited = await check(store, copied, meanwhile);
      const queued = new Set<string>();
      for (let more = true; more;) {
        const leased = await store.queue.lease(copied, 1_000, 60_000, made());
        for (const { payload } of leased) queued.add(payload);
        more = leased.length > 0;
      }
      expect(meanwhile.filter((item, i) => visited[i] === 1 && !queued.has(item))).toEqual([]);
    });

    it('accepts exports of overfull filters, after all kinds of removals, and taken during writes', async () => {
      const random = new Random();
      console.log(`SEED=${random.seed}`);
      const { store } = subject;
      for (let round = 0; round < ROUNDS; round++) {
        const filter = await makeFilter(store, {
          ...random.pick(KINDS),
          ...{ capacity: 5 + random.below(60), errorRate: random.pick([0.5, 0.2, 0.01]) },
          ...(random.below(2) === 0 && { segmentation: SEGMENTED }),
        });
        const keys = () => items(300).filter(() => random.below(12) === 0);
        const copies = () => Array.from({ length: random.below(20) }, () => random.pick(items(3)));
        const change = async () => {
          const call = filter.type === 'counting' && random.below(3) === 0 ? remove : add;
          const refused = call(store, filter, random.below(4) === 0 ? copies() : keys());
          await refused.catch((error: unknown) => {
            if (!(error instanceof StoreError) || error.code !== 'FILTER_FULL') throw error;
          });
        };
        for (let n = random.below(12); n > 0; n--) await change();
        const written: Part[] = [];
        for await (const part of store.transfer.export(filter)) {
          written.push(part);
          if (round % 2 === 0) await change();
        }
        const file = await collect(
          encodeExportFile(
            exportHeader(filter),
            given(written, async () => undefined),
          ),
        );
        const copied = await importFile(store, file, made(), `${filter.name}.copy`);
        if (round % 2 === 0) continue;
        const { items: before } = await store.describe(filter);
        expect([round, await store.describe(copied)]).toMatchObject([round, { items: before }]);
      }
    });

    it('restores segments whose cells arrive in several pieces', async () => {
      const { store, harness } = subject;
      const filter = await makeFilter(store, { capacity: 300_000 });
      expect(filter.geometry.segments).toBe(1);
      await add(store, filter, items(5_000));
      const cells = await harness.segmentBytes(filter, 0);
      expect(cells.length).toBeGreaterThan(2 ** 21);
      const copied = await importFile(store, await exportFile(store, filter), made(), `${filter.name}.copy`);
      expect(Buffer.compare(await harness.segmentBytes(copied, 0), cells)).toBe(0);
    });

    it('queues its entries in order of arrival, including several of one item', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { kind: 'visited-set' });
      await discover(store, filter, items(50));
      const { header, parts } = await readFile(await exportFile(store, filter));
      const turned = parts.map((part): Part => {
        if (part.type !== 'queue') return part;
        return { ...part, entries: [...part.entries].reverse().concat(part.entries.slice(0, 1)) };
      });
      const copied = await store.transfer.import(
        specOf(header, `${filter.name}.copy`),
        given(turned, async () => undefined),
        made(),
      );
      const { queue } = await store.describe(copied);
      expect(queue).toMatchObject({ waiting: 51, leased: 0, delayed: 0, dead: 0, forgotten: 0 });
      const leased = await store.queue.lease(copied, 100, 60_000, made());
      expect(leased.map(({ payload }) => payload)).toEqual([...items(50).reverse(), 'item 0']);
      expect(await remove(store, copied, ['item 0'])).toEqual([1]);
      const ids = [leased[49]!.id, leased[50]!.id];
      expect([...(await store.queue.ack(copied, ids, made()))]).toEqual([0, 0]);
    });
  });
}

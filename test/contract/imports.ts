import { describe, expect, it } from '@jest/globals';
import { MAX_PLACE, type Part } from '#store';
import { exportFile, readFile, specOf } from '../support/export-files.js';
import { discover, expectRefusal, items, made, makeFilter, SEGMENTED } from './calls.js';
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

export function importsContract(subject: Subject): void {
  /** A small visited set, as a file has it, under a name of its own. */
  const exported = async () => {
    const { store } = subject;
    const filter = await makeFilter(store, { kind: 'visited-set', segmentation: SEGMENTED });
    await discover(store, filter, items(50));
    const { header, parts } = await readFile(await exportFile(store, filter));
    return { spec: specOf(header, `${filter.name}.copy`), parts };
  };

  describe('an import', () => {
    it('under a name that is taken reads nothing', async () => {
      const { store } = subject;
      const { spec, parts } = await exported();
      await makeFilter(store, { name: spec.name });
      let read = 0;
      const counted = given(parts, async () => void read++);
      await expectRefusal(store.transfer.import(spec, counted, made()), 'FILTER_EXISTS');
      expect(read).toBe(0);
    });

    it('is in no list until its parts have ended', async () => {
      const { store } = subject;
      const { spec, parts } = await exported();
      const listed = async () => (await store.list(spec.kind, 10, undefined, spec.name)).filters.length;
      const seen: number[] = [];
      const watched = given(parts, async () => void seen.push(await listed()));
      await store.transfer.import(spec, watched, made());
      expect(seen).toEqual(parts.map(() => 0));
      expect(await listed()).toBe(1);
    });

    it('has its queued items visible, wherever in line they stood', async () => {
      const { store } = subject;
      const { spec, parts } = await exported();
      const late = parts.map((part): Part => {
        if (part.type !== 'queue') return part;
        return { ...part, entries: part.entries.map((entry, i) => ({ ...entry, place: MAX_PLACE - i })) };
      });
      const filter = await store.transfer.import(
        spec,
        given(late, async () => undefined),
        made(),
      );
      expect((await store.describe(filter)).queue).toEqual({ waiting: 50, leased: 0 });
      const leased = await store.queue.lease(filter, 100, 60_000, made());
      expect(leased.map(({ payload }) => payload).sort()).toEqual(items(50).sort());
    });
  });
}

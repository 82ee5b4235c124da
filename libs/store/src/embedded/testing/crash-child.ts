import { writeSync } from 'node:fs';
import { joinAll } from '../../join-all.js';
import { EmbeddedStore } from '../embedded-store.js';
import { createFilter, keys, operation, positions } from './fixtures.js';

/**
 * A program for crash.spec.ts. It adds batches to a multiset filter, with 16 calls in flight, until it is killed or a
 * call fails. It prints a line for every acknowledged batch and, after a failure, a line about the store's state.
 */
const BATCH = 100;
const [dataDir = '', from = '0'] = process.argv.slice(2);
const say = (line: unknown): void => void writeSync(1, `${JSON.stringify(line)}\n`);

const store = await EmbeddedStore.open({ dataDir, checkpointBytes: 65_536 });
const filter = await createFilter(store, { semantics: 'multiset', capacity: 1_000_000, errorRate: 1e-6 });
let next = Number(from);
let failed: { batch: number; code: unknown } | undefined;

async function write(): Promise<void> {
  while (!failed) {
    const batch = next++;
    const record = operation({ id: `batch-${batch}`, origin: 'caller', repeat: true });
    try {
      await store.counters.add(filter, positions(filter, keys(BATCH, batch * BATCH)), record);
      say({ acknowledged: batch });
    } catch (error) {
      failed ??= { batch, code: (error as { code?: unknown }).code };
    }
  }
}

await joinAll(Array.from({ length: 16 }, write));
if (failed) {
  // Longer than the pause before memory is reloaded.
  await new Promise((resolve) => setTimeout(resolve, 300));
  const present = await store.counters.check(filter, positions(filter, keys(BATCH, failed.batch * BATCH)));
  const { added, duplicate } = await store.describe(filter);
  say({ ...failed, present: present.filter((one) => one === 1).length, items: added + duplicate });
}
await store.close();

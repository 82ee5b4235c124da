import { readBlockKey } from '../../libs/store/src/embedded/database/keys.js';
import type { SimulatedDisk } from './memory-environment.js';
import type { Model } from './model.js';
import { Violation } from './notes.js';

const NAMES = '00'.repeat(8);
const OF_GENERATIONS = [
  ...['states', 'blocks', 'block-counts', 'records', 'hidden'],
  ...['log', 'lanes', 'turns', 'leases', 'due', 'dead', 'marks', 'removed'],
];
const SCOPE_BYTES = 9;
const WINDOW_BYTES = 4;

/**
 * Asserts that, with nothing in progress, the disk holds no data of deleted sets, finished syncs, failed imports or
 * expired records.
 */
export function assertTidy({ tables }: SimulatedDisk, { sets }: Model): void {
  const known = new Map([...sets.values()].map((set) => [set.filter.generation, set]));
  const windows = new Map<string, Set<string>>();
  for (const name of OF_GENERATIONS) {
    for (const text of tables.get(name)?.keys ?? []) {
      const key = Buffer.from(text, 'latin1');
      const generation = key.toString('hex', 0, 8);
      const set = known.get(generation);
      if (!set && generation !== NAMES) throw new Violation(`a row of ${name} is left of a set that is gone`);
      if (name === 'removed' && !set?.sync)
        throw new Violation('a noted removal is left over, and no sync needs it');
      if (name === 'blocks' && set?.retired.has(readBlockKey(key)?.layer ?? -1))
        throw new Violation('a block is left of a layer that is gone');
      if (name !== 'records') continue;
      const scope = key.toString('hex', 0, SCOPE_BYTES);
      const found = windows.get(scope) ?? new Set();
      windows.set(scope, found.add(key.toString('hex', SCOPE_BYTES, SCOPE_BYTES + WINDOW_BYTES)));
      if (found.size > 2) throw new Violation('records are left of a window that has ended');
    }
  }
}

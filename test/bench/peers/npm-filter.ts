import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import bloomFilters from 'bloom-filters';
import { BATCH } from '../workload.js';
import { ERROR_RATE, type Contender, type Verb } from './contender.js';

// Its exports are getters, which Node can't import by name.
export const { CountingBloomFilter } = bloomFilters;

/** The npm package bloom-filters, in this process. */
export class NpmFilter implements Contender {
  readonly name = 'npm-bloom-filters';
  readonly share = 1 / 10;
  readonly batch = BATCH;
  readonly width = 1;
  readonly removes = true;
  readonly workers = {};
  private filter = CountingBloomFilter.create(1, ERROR_RATE);
  private heapBefore = 0;

  reset(capacity: number): Promise<void> {
    this.filter = CountingBloomFilter.create(1, ERROR_RATE);
    this.heapBefore = liveHeap();
    this.filter = CountingBloomFilter.create(capacity, ERROR_RATE);
    return Promise.resolve();
  }

  call(verb: Verb, items: readonly string[]): Promise<number> {
    const { filter } = this;
    let hits = 0;
    for (const item of items) {
      const present = filter.has(item);
      if (present !== (verb === 'add')) hits++;
      if (verb === 'add' && !present) filter.add(item);
      if (verb === 'remove' && present) filter.remove(item);
    }
    return Promise.resolve(hits);
  }

  bytes(): Promise<number> {
    return Promise.resolve(liveHeap() - this.heapBefore);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

let collectGarbage: (() => void) | undefined;

const COLLECTIONS = 8;

/** Bytes of the heap in use. */
function liveHeap(): number {
  if (collectGarbage === undefined) {
    setFlagsFromString('--expose-gc');
    collectGarbage = runInNewContext('gc') as () => void;
  }
  // V8 frees unused code only after several collections.
  for (let round = 0; round < COLLECTIONS; round++) collectGarbage();
  return process.memoryUsage().heapUsed;
}

import { randomBytes } from 'node:crypto';
import { planGeometry, positionsOf, SEED_BYTES, type Positions } from '#bloom';
import { Added, Removed, type Filter } from '#store';
import { MAX_SEGMENT_BYTES } from '../../libs/store/src/segmentation.js';
import { addBatch, checkBatch, removeBatch } from '../../libs/store/src/embedded/items/batches.js';
import { reserveCells } from '../../libs/store/src/embedded/layers/cell-memory.js';
import { FilterState } from '../../libs/store/src/embedded/filters/filter-state.js';
import { measured, summary, type Measured } from './measured.js';
import { CountingBloomFilter } from './peers/npm-filter.js';
import { assertSetUp, atLeast, atMost, type BenchOptions, type Group, type Row } from './row.js';
import { LARGE_SIZE, sizeName } from './sizes.js';
import { batchesOf, flat, urls } from './workload.js';

const ERROR_RATE = 1e-2;
const ROUND_ITEMS = 500_000;
const FILL_ITEMS = 100_000;
/** The package's filter takes about 400 bytes per item, so one for 10^7 items wouldn't fit on most machines. */
const PACKAGE_SIZE = 100_000;
const PACKAGE_ITEMS = 20_000;
const ROUNDS = 5;
const TARGET_MICROS = 0.24;
const TARGET_TIMES = 30;

const VERBS = ['add', 'check', 'remove'] as const;
type Verb = (typeof VERBS)[number];
type Rounds = Record<Verb, Measured[]>;

/** A filter that counts a batch's new, present or removed items. */
type Counting = Readonly<Record<Verb, (batch: readonly string[]) => number>>;

/**
 * This process's CPU for the embedded store's filter, without HTTP and database but with the hash, compared with an npm
 * package's filter.
 */
export const filterGroup: Group = {
  name: 'in-process',
  async measure(options) {
    const size = options.quick ? LARGE_SIZE / 10 : LARGE_SIZE;
    const items = options.quick ? ROUND_ITEMS / 5 : ROUND_ITEMS;
    const own = await ownFilter(size);
    for (let from = items; from < size; from += FILL_ITEMS) {
      for (const batch of batchesOf(flat(urls(from, Math.min(FILL_ITEMS, size - from))))) own.add(batch);
    }
    const other = packageFilter();
    for (const url of urls(PACKAGE_ITEMS, PACKAGE_SIZE - PACKAGE_ITEMS)) other.add([url]);
    const batches = batchesOf(flat(urls(0, items)));
    const rounds: Record<'own' | 'other', Rounds> = {
      own: { add: [], check: [], remove: [] },
      other: { add: [], check: [], remove: [] },
    };
    for (let round = 0; round <= roundsOf(options); round++) {
      for (const verb of VERBS) {
        const ours = await pass(own, verb, batches);
        const theirs = await pass(other, verb, batches.slice(0, PACKAGE_ITEMS / 1_000));
        // The first round lets the compiler finish.
        if (round === 0) continue;
        rounds.own[verb].push(ours);
        rounds.other[verb].push(theirs);
      }
    }
    return VERBS.flatMap((verb) => rowsOf(verb, size, rounds));
  },
};

const roundsOf = ({ quick }: BenchOptions) => (quick ? 1 : ROUNDS);

async function ownFilter(capacity: number): Promise<Counting> {
  const sizing = { capacity, errorRate: ERROR_RATE, cellBits: 4 } as const;
  const segmentation = { maxSegmentBytes: MAX_SEGMENT_BYTES, minSegments: 1, minSegmentBytes: 1 };
  const geometry = planGeometry(sizing, segmentation);
  const seed = randomBytes(SEED_BYTES);
  const filter: Filter = {
    ...({ name: 'bench', kind: 'filter', type: 'counting', semantics: 'set' } as const),
    ...{ capacity, errorRate: ERROR_RATE, geometry, seed, generation: '0'.repeat(16), createdAt: Date.now() },
    ...{ base: 0, spread: geometry.segments },
  };
  const state = new FilterState(filter, await reserveCells(geometry), Date.now());
  const positions = (batch: readonly string[]): Positions => positionsOf(batch, seed, geometry);
  return {
    add: (batch) => occurrences(Added.New, addBatch(state, positions(batch)).answers),
    check: (batch) => occurrences(PRESENT, checkBatch(state, positions(batch))),
    remove: (batch) => occurrences(Removed.Removed, removeBatch(state, positions(batch)).answers),
  };
}

/** The result of checking a present item. */
const PRESENT = 1;

function occurrences(answer: number, answers: Uint8Array): number {
  let sum = 0;
  for (const one of answers) if (one === answer) sum++;
  return sum;
}

function packageFilter(): Counting {
  const filter = CountingBloomFilter.create(PACKAGE_SIZE, ERROR_RATE);
  const count = (batch: readonly string[], one: (item: string) => boolean) => batch.filter(one).length;
  return {
    add: (batch) => {
      for (const item of batch) filter.add(item);
      return batch.length;
    },
    check: (batch) => count(batch, (item) => filter.has(item)),
    remove: (batch) => count(batch, (item) => filter.remove(item)),
  };
}

async function pass(filter: Counting, verb: Verb, batches: readonly string[][]): Promise<Measured> {
  const items = batches.reduce((sum, batch) => sum + batch.length, 0);
  let hits = 0;
  const round = await measured({}, items, () => {
    for (const batch of batches) hits += filter[verb](batch);
    return Promise.resolve();
  });
  assertSetUp(hits > 0.98 * items && hits <= items, `in process, ${verb}: ${hits} of ${items}`);
  return round;
}

function rowsOf(verb: Verb, size: number, rounds: Record<'own' | 'other', Rounds>): Row[] {
  const other = { name: `bloom-filters-${sizeName(PACKAGE_SIZE)}/${verb}`, ...summary(rounds.other[verb]) };
  const own = { name: `in-process-${sizeName(size)}/${verb}`, ...summary(rounds.own[verb]) };
  const [ours = NaN, theirs = NaN] = [own.cpu.client, other.cpu.client];
  return [
    {
      ...own,
      ratio: { value: ours / theirs, against: other.name },
      targets: [
        atMost('CPU, including the hash', ours, TARGET_MICROS, 'µs'),
        atLeast('faster than bloom-filters', theirs / ours, TARGET_TIMES, '×'),
      ],
    },
    other,
  ];
}

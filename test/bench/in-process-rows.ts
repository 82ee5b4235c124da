import {
  cellCount,
  DEFAULT_HASH_SCHEME,
  HASH_SCHEMES,
  HOST_HASH_SCHEME,
  planGeometry,
  positionsOf,
  SEED_BYTES,
} from '#bloom';
import { compileProfile, normaliseProfile } from '#url-key';
import { repeat, type Cost } from './repeat.js';
import { assertSetUp, atMost, type Group, type Row } from './row.js';
import { BATCH, flat, linesOf, urlAt, urls } from './workload.js';

const CAPACITY = 10_000_000;
const BATCHES = 100;

/** Work that the service does without a store, done in this process. Its CPU is in the service's column. */
export const hashGroup: Group = {
  name: 'hash',
  measure(options) {
    assertSetUp(Buffer.byteLength(urlAt(0)) === 77, 'URLs have 77 bytes');
    // Runs each scheme once first, so that calls are compiled for all schemes, as in a service.
    for (const scheme of HASH_SCHEMES) schemePass(scheme)();
    const costs = HASH_SCHEMES.map((scheme) => repeat(options, schemePass(scheme)));
    const [first] = costs as [Cost];
    const rows = HASH_SCHEMES.map((scheme, i): Row => {
      const { wall, cpu } = costs[i] as Cost;
      return {
        name: scheme === DEFAULT_HASH_SCHEME ? 'hash/positions-1e-2' : `hash/positions-1e-2-scheme-${scheme}`,
        itemsPerSecond: 1e6 / wall,
        cpu: { service: cpu },
        figures: [
          { name: 'hash scheme', value: scheme, unit: '' },
          { name: 'CPU relative to scheme 1', value: cpu / first.cpu, unit: '×' },
        ],
        targets: [atMost('CPU of hash and positions', cpu, 0.3, 'µs')],
      };
    });
    return Promise.resolve(rows);
  },
};

/** Computes positions for BATCHES batches of URLs with a hash scheme. */
function schemePass(hashScheme: number): () => number {
  const sizing = { capacity: CAPACITY, errorRate: 1e-2, cellBits: 4 } as const;
  const segmentation = { maxSegmentBytes: 2 ** 24, minSegments: 1, minSegmentBytes: 2 ** 16 };
  const spread = hashScheme === HOST_HASH_SCHEME ? 1 : undefined;
  const geometry = { ...planGeometry(sizing, { ...segmentation, spread }), hashScheme };
  const seed = Uint8Array.from({ length: SEED_BYTES }, (_, i) => i * 17);
  const batches = Array.from({ length: BATCHES }, (_, b) => flat(urls(b * BATCH, BATCH)));
  return () => {
    let sum = 0;
    for (const batch of batches) {
      const positions = positionsOf(batch, seed, geometry);
      sum += positions.cell[positions.cell.length - 1] as number;
    }
    assertSetUp(sum > 0 && sum < cellCount(geometry) * BATCHES, 'positions are positions');
    return BATCHES * BATCH;
  };
}

export const urlGroup: Group = {
  name: 'url',
  measure(options) {
    const lines = linesOf(options.file);
    const canonicaliser = compileProfile(normaliseProfile('safe'));
    const valid = lines.filter((line) => typeof canonicaliser.key(line) === 'string').length;
    assertSetUp(valid > lines.length * 0.9, `nearly all lines of ${options.file} are URLs`);
    let length = 0;
    const { wall, cpu } = repeat(options, () => {
      for (const line of lines) {
        const key = canonicaliser.key(line);
        if (typeof key === 'string') length += key.length;
      }
      return lines.length;
    });
    assertSetUp(length > 0, 'keys are not empty');
    const unchanged = lines.filter((line) => canonicaliser.key(line) === line).length;
    const row: Row = {
      name: 'url/canonicalise-safe',
      itemsPerSecond: 1e6 / wall,
      cpu: { service: cpu },
      figures: [
        { name: 'URLs', value: lines.length, unit: '' },
        { name: 'already canonical', value: (100 * unchanged) / lines.length, unit: '%' },
      ],
      targets: [atMost('CPU of canonicalising', cpu, 0.6, 'µs')],
    };
    return Promise.resolve([row]);
  },
};

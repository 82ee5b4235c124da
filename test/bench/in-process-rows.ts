import { cellCount, planGeometry, positionsOf } from '#bloom';
import { compileProfile, normaliseProfile } from '#url-key';
import { ownCpuMicros } from './process-usage.js';
import { assertSetUp, atMost, type BenchOptions, type Group, type Row } from './row.js';
import { median } from './statistics.js';
import { BATCH, linesOf, urlAt, urls } from './workload.js';

const CAPACITY = 10_000_000;
const BATCHES = 100;
const ROUND_ITEMS = 100_000;

/** Work of the service that needs no store, in this process: its CPU stands in the service's column. */
export const hashGroup: Group = {
  name: 'hash',
  measure(options) {
    const geometry = planGeometry(
      { capacity: CAPACITY, errorRate: 1e-2, cellBits: 4 },
      { maxSegmentBytes: 2 ** 24, minSegments: 1, minSegmentBytes: 2 ** 16 },
    );
    const seed = Uint8Array.from({ length: 16 }, (_, i) => i * 17);
    const batches = Array.from({ length: BATCHES }, (_, b) => urls(b * BATCH, BATCH));
    assertSetUp(Buffer.byteLength(urlAt(0)) === 77, 'URLs have 77 bytes');
    let sum = 0;
    const { wall, cpu } = repeat(options, () => {
      for (const batch of batches) {
        const positions = positionsOf(batch, seed, geometry);
        sum += positions.cell[positions.cell.length - 1] as number;
      }
      return BATCHES * BATCH;
    });
    assertSetUp(sum > 0 && sum < cellCount(geometry) * ROUND_ITEMS, 'positions are positions');
    const row: Row = {
      name: 'hash/positions-1e-2',
      itemsPerSecond: 1e6 / wall,
      cpu: { service: cpu },
      targets: [atMost('CPU of hash and positions', cpu, 0.3, 'µs')],
    };
    return Promise.resolve([row]);
  },
};

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
        { name: 'canonical already', value: (100 * unchanged) / lines.length, unit: '%' },
      ],
      targets: [atMost('CPU of canonicalising', cpu, 1, 'µs')],
    };
    return Promise.resolve([row]);
  },
};

/** µs an item of `pass`, which tells how many it did: the median over rounds of enough passes to be timed well. */
function repeat(options: BenchOptions, pass: () => number): { wall: number; cpu: number } {
  const walls: number[] = [];
  const cpus: number[] = [];
  const end = performance.now() + options.seconds * 1_000;
  // The first round is the compiler's.
  for (let round = 0; round < 4 || performance.now() < end; round++) {
    const from = performance.now();
    const cpuFrom = ownCpuMicros();
    let items = 0;
    while (items < ROUND_ITEMS) items += pass();
    if (round === 0) continue;
    walls.push(((performance.now() - from) * 1_000) / items);
    cpus.push((ownCpuMicros() - cpuFrom) / items);
  }
  return { wall: median(walls), cpu: median(cpus) };
}

import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { planLayers, positionsOf } from '#bloom';
import { MovedClock } from '../../../../test/support/moved-clock.js';
import { epochMs } from '../age.js';
import type { Filter } from '../port/index.js';
import type { EmbeddedStore } from './embedded-store.js';
import { copyLive } from './testing/copy-live.js';
import { filterSpec, operation, positions, Workbench } from './testing/fixtures.js';

const RUNS = 3;
const SHARE = 400;
const MAX_AGE_SECONDS = 86_400;
const EPOCH_MS = epochMs(MAX_AGE_SECONDS);

const bench = new Workbench();
afterEach(() => bench.tidy());

/**
 * A one-layer set that ages, in which hosts choose one of RUNS runs. It is so full that other items keep all cells of
 * many items live.
 */
async function create(store: EmbeddedStore): Promise<Filter> {
  const spec = filterSpec(store, {
    ...{ kind: 'visited-set', capacity: RUNS * SHARE, errorRate: 0.25, maxAgeSeconds: MAX_AGE_SECONDS },
  });
  const layers = planLayers({ ...spec, cellBits: 8 }, { ...store.segmentation, spread: RUNS }, 1);
  return (await store.create({ ...spec, geometry: layers[0].geometry, layers }, operation())).filter;
}

const urls = (count: number, prefix: string): string[] =>
  Array.from({ length: count }, (_, n) => `http://${prefix}${n}.example/`);

const add = async (store: EmbeddedStore, filter: Filter, keys: readonly string[]) => [
  ...(await store.counters.add(filter, positions(filter, keys), operation(), { payloads: keys })),
];

/** Each run's room for URLs, and everything else that a copy of the set must share. */
async function seenIn(store: EmbeddedStore, { name, kind }: Filter, asked: readonly string[]) {
  const filter = await store.open(name, kind);
  const { geometry, seed } = filter;
  const rooms: number[] = [];
  for (let n = 0; rooms.filter((room) => room >= 0).length < RUNS; n++) {
    const pages = Array.from({ length: 4 * SHARE }, (_, page) => `http://big${n}.example/${page}`);
    const { segment } = positionsOf(pages, seed, geometry);
    const run = Math.floor(((segment[0] as number) * RUNS) / geometry.segments);
    if (rooms[run] !== undefined) continue;
    const refusal = await add(store, filter, pages).then(() => '', String);
    rooms[run] = Number(/room for (\d+) more URLs/.exec(refusal)?.[1]);
  }
  const { items, age, nonZeroCells } = await store.describe(filter);
  const found = await store.counters.check(filter, positions(filter, asked), Infinity);
  return { rooms, items, age, nonZeroCells, found: [...found] };
}

it('a set that ages keeps its URLs, its hidden items and the room in each run after a kill, while time passes', async () => {
  const clock = new MovedClock();
  clock.toStartOf(EPOCH_MS);
  const store = await bench.open({ clock, checkpointBytes: 20_000 });
  const filter = await create(store);
  const first = await add(store, filter, urls(500, 'first'));
  clock.advance(4 * EPOCH_MS);
  await add(store, filter, urls(400, 'later'));
  const counted = urls(500, 'first').filter((_, n) => first[n] === 1);
  await store.counters.remove(filter, positions(filter, counted.slice(0, 150)), operation());
  const target = join(await bench.dataDir(), 'killed');
  await copyLive(await bench.dataDir(), target);
  const killed = await bench.open({ clock, dataDir: target });
  const asked = [...urls(500, 'first'), ...urls(400, 'later')];
  const before = await seenIn(store, filter, asked);
  expect(before.age?.hidden).toBeGreaterThan(0);
  for (const room of before.rooms) expect(room).toBeLessThan(SHARE);
  for (const epochs of [0, 10, 10]) {
    clock.advance(epochs * EPOCH_MS);
    expect([epochs, await seenIn(killed, filter, asked)]).toEqual([
      epochs,
      await seenIn(store, filter, asked),
    ]);
  }
  // All items have expired.
  expect((await seenIn(killed, filter, asked)).rooms).toEqual([SHARE, SHARE, SHARE]);
});

import { CASES, noRounds, runRound, type Case, type Rounds } from './batch-rounds.js';
import { FilterClient } from './filter-client.js';
import { caseCosts, OPTIONS, ROUNDS } from './guard-costs.js';
import type { Costs } from './guard-limits.js';
import type { GuardGroup } from './guard-run.js';
import { onEachStore } from './guard-stores.js';
import type { Workers } from './measured.js';
import { assertSetUp, type CpuPerItem } from './row.js';
import { warmUp } from './warm-up.js';
import { BATCH, jsonBodies } from './workload.js';

/** Visited sets for which a store runs different code than for a plain set. Each is compared with the plain set. */
const SHAPES = ['grown', 'syncing', 'ageing', 'ageing-grown'] as const;
type Shape = (typeof SHAPES)[number];
type ShapeRounds = Record<Shape | 'plain', Rounds>;

interface ShapedSet {
  readonly shape: Shape | 'plain';
  readonly client: FilterClient;
  readonly layers: number;
}

/** Requests in flight. */
const WIDTH = 4;
const ITEMS = { embedded: 40_000, redis: 12_000 };
const ROWS_OF = { embedded: 'embedded', redis: 'redis-1e-2' };
const ERROR_RATE = 1e-2;
const MAX_AGE_SECONDS = 864_000;
/** Layers of a grown set. */
const GROWN_LAYERS = 3;
/** Number of the first item that fills a set, far from the rounds' items. */
const FIRST_FILLED = 5_000_000;

export const shapeGroups = (): GuardGroup[] =>
  onEachStore(
    'by shape',
    (store) => rowsOf(ROWS_OF[store]),
    async ({ store, port, workers, part }) =>
      costsOf(part, ROWS_OF[store], await measureShapes(port, workers, ITEMS[store])),
  );

const rowOf = (store: string, shape: Shape, name: Case) => `${store}/${shape}/${name} against a plain set`;

const rowsOf = (store: string): string[] =>
  SHAPES.flatMap((shape) => CASES.map((name) => rowOf(store, shape, name)));

function costsOf(part: keyof CpuPerItem, store: string, { plain, ...shapes }: ShapeRounds): Costs {
  const costs: Costs[] = SHAPES.map((shape) =>
    caseCosts(
      part,
      (name) => rowOf(store, shape, name),
      shapes[shape],
      (name) => plain[name],
    ),
  );
  return Object.assign({}, ...costs) as Costs;
}

/** Measures alternating rounds of all cases, in a set of each shape. */
async function measureShapes(port: number, workers: Workers, items: number): Promise<ShapeRounds> {
  const bodies = jsonBodies(0, items, BATCH, 'urls');
  const sets = await shapedSets(port, items);
  const rounds: ShapeRounds = {
    ...{ plain: noRounds(), grown: noRounds(), syncing: noRounds() },
    ...{ ageing: noRounds(), 'ageing-grown': noRounds() },
  };
  const runRounds = async (into: (shape: Shape | 'plain') => Rounds) => {
    for (const { shape, client } of sets) await runRound(client, bodies, workers, into(shape));
  };
  await warmUp(OPTIONS, () => runRounds(noRounds));
  for (let round = 0; round < ROUNDS; round++) await runRounds((shape) => rounds[shape]);
  await assertShapes(sets);
  for (const { client } of sets) client.close();
  return rounds;
}

/** Creates a set of each shape, with room for `items` more items before its shape changes. */
async function shapedSets(port: number, items: number): Promise<ShapedSet[]> {
  const sets: ShapedSet[] = [];
  for (const shape of ['plain', ...SHAPES] as const) {
    const client = new FilterClient(port, shape, WIDTH, 'visited-set');
    const isGrown = shape.endsWith('grown');
    const age = shape.startsWith('ageing') ? MAX_AGE_SECONDS : undefined;
    // The third layer holds seven times as many items as the first.
    await client.create(isGrown ? items / 2 : 2 * items, ERROR_RATE, isGrown ? 'auto' : 'none', age);
    if (isGrown) await grow(client, items / 2);
    if (shape === 'syncing') await client.openSync();
    sets.push({ shape, client, layers: isGrown ? GROWN_LAYERS : 1 });
  }
  return sets;
}

async function grow(client: FilterClient, step: number): Promise<void> {
  const layers = async () => (await client.view()).layers.length;
  for (let steps = 0; (await layers()) < GROWN_LAYERS; steps++) {
    assertSetUp(steps < 10, `${client.name} has ${GROWN_LAYERS} layers`);
    await client.fill(FIRST_FILLED + steps * step, step);
  }
}

/** Throws unless each set still has its shape. */
async function assertShapes(sets: readonly ShapedSet[]): Promise<void> {
  for (const { shape, client, layers } of sets) {
    const view = await client.view();
    assertSetUp(view.layers.length === layers, `${shape} has ${view.layers.length} layers, not ${layers}`);
    assertSetUp((view.sync !== undefined) === (shape === 'syncing'), `${shape} is as it was made`);
  }
}

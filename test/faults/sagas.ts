import { positionsOf } from '#bloom';
import type { Filter, FilterSpec, Operation, Part } from '#store';
import { StaleFilterError, StoreError } from '#store';
import type { RedisStore } from '#store/redis';
import { add, check, discover, filterSpec, items, made } from '../contract/calls.js';
import { syncPlan } from '../contract/sync-calls.js';

/*
 * All changes to a catalogue entry, and the calls that may come next on the same name if the changing process dies.
 */

/** A change's context. */
export interface Scene {
  /** The changed filter's name, which is also its quota's prefix. */
  readonly name: string;
  /** The id of the sync in progress. */
  readonly sync: string;
  /** The export's parts, which an import reads. */
  readonly parts: readonly Part[];
}

export type Call = (store: RedisStore, scene: Scene, operation: Operation) => Promise<unknown>;

export interface Saga {
  readonly name: string;
  prepare(store: RedisStore, scene: Scene): Promise<Partial<Scene>>;
  /** A change that runs after `prepare` and whose instance dies in the middle, after `part` of its commands. */
  readonly dead?: { readonly call: Call; readonly part: number };
  readonly run: Call;
  /** The calls that may come next, by name. Repeating the same operation is always tried. */
  readonly next: Readonly<Record<string, Call>>;
  /** Without enough memory, the change is either complete or undone immediately. */
  readonly undone?: true;
  /** The answer if the change was abandoned immediately. */
  readonly abandoned?: string;
}

const HELD = items(20);
const LISTED = [...HELD.slice(0, 12), ...items(8, 'listed')];
/** More than the first layer takes in any segment. */
const MORE = items(50, 'more');
export const LATER = 'later';
/** All items that a call may have stored. */
export const ITEMS = [...HELD, ...LISTED, ...MORE, LATER];

const SEGMENTATION = { maxSegmentBytes: 4_096, minSegments: 2, minSegmentBytes: 1 };

/** A visited set with two segments that grows and ages, and so has every kind of Redis key. */
export const specOf = (name: string): FilterSpec =>
  filterSpec({
    ...{ name, kind: 'visited-set', capacity: 40, errorRate: 1e-4, growsTo: Infinity },
    ...{ maxAgeSeconds: 86_400, segmentation: SEGMENTATION },
  });

const current = (store: RedisStore, { name }: Pick<Scene, 'name'>) =>
  store.open(name, 'visited-set', { fresh: true });

/** Makes a call on the current filter, and again if that filter was cleared, or its sync committed, during the call. */
async function onCurrent<T>(
  store: RedisStore,
  scene: Scene,
  call: (filter: Filter) => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await call(await current(store, scene));
    } catch (error) {
      if (!(error instanceof StaleFilterError)) throw error;
    }
  }
}

const create: Call = async (store, { name }, operation) =>
  (await store.create(specOf(name), operation, { prefix: name, maxFilters: 1 })).created;

/** Creates another filter where the quota allows only one. */
const createBeside: Call = async (store, { name }, operation) =>
  (await store.create(specOf(`${name}b`), operation, { prefix: name, maxFilters: 1 })).created;

const importAll: Call = async (store, { name, parts }, operation) => {
  await store.transfer.import(specOf(name), given(parts), operation);
  return 'imported';
};

const clear: Call = async (store, { name }, operation) => {
  await store.clear(name, 'visited-set', operation);
  return 'cleared';
};

const drop: Call = async (store, { name }, operation) => {
  await store.drop(name, 'visited-set', operation);
  return 'dropped';
};

/** Succeeds even if the filter doesn't exist. */
const dropAny: Call = async (store, scene, operation) => {
  const answer = await drop(store, scene, operation).catch((error: unknown) => {
    if (error instanceof StoreError && error.code === 'FILTER_NOT_FOUND') return 'dropped';
    throw error;
  });
  return answer;
};

/** Needs another layer. */
const addMore: Call = (store, scene, operation) =>
  onCurrent(store, scene, (filter) => add(store, filter, MORE, operation));

/** Like `addMore`, but by other callers, so the answer doesn't show which items were new. */
const addMoreAgain: Call = async (store, scene) => {
  await addMore(store, scene, made());
  return 'added';
};

const addLater: Call = (store, scene, operation) =>
  onCurrent(store, scene, (filter) => add(store, filter, [LATER], operation));

const open: Call = (store, scene, operation) =>
  onCurrent(store, scene, async (filter) => {
    const { state } = await store.syncs.open(filter, syncPlan(filter), operation);
    return state;
  });

/** Opens the next sync once the current one has ended. */
const openNext: Call = async (store, scene, operation) => {
  await store.syncs.tend();
  return open(store, scene, operation);
};

const keepOf =
  (keys: readonly string[]): Call =>
  (store, scene, operation) =>
    onCurrent(store, scene, async (filter) => {
      const positions = positionsOf(keys, filter.seed, filter.geometry);
      return [...(await store.syncs.keep(filter, scene.sync, positions, operation))];
    });

/** Needs another layer in the sync itself. */
const keepMore = keepOf(MORE);

const keepMoreAgain: Call = async (store, scene) => {
  await keepMore(store, scene, made());
  return 'kept';
};

/** A commit in progress always ends up committed. */
const told = (state: string) => (state === 'committing' ? 'committed' : state);

const commit: Call = (store, scene, operation) =>
  onCurrent(store, scene, async (filter) => {
    const { state, items } = await store.syncs.commit(filter, scene.sync, 1, operation.deadline);
    return [told(state), items];
  });

const abandon: Call = (store, scene, operation) =>
  onCurrent(store, scene, async (filter) => {
    const { state } = await store.syncs.abandon(filter, scene.sync, operation.deadline);
    return state;
  });

const get: Call = (store, scene) =>
  onCurrent(store, scene, async (filter) => told((await store.syncs.get(filter, scene.sync)).state));

const describeIt: Call = (store, scene) =>
  onCurrent(store, scene, async (filter) => {
    const { sync } = await store.describe(filter);
    return sync?.state === 'open' ? 'open sync' : 'no open sync';
  });

/** Abandons idle syncs, and finishes those that are ending. */
const tend: Call = async (store) => {
  await store.syncs.tend();
  return 'tended';
};

async function* given(parts: readonly Part[]): AsyncGenerator<Part, void, undefined> {
  yield* parts;
}

/** A filter that contains HELD, also in its queue. */
async function held(store: RedisStore, scene: Scene): Promise<object> {
  await create(store, scene, made());
  await onCurrent(store, scene, (filter) => discover(store, filter, HELD));
  return {};
}

/** A filter that has grown and contains HELD, with a sync in progress. */
async function synced(store: RedisStore, scene: Scene): Promise<Pick<Scene, 'sync'>> {
  await create(store, scene, made());
  const filter = await current(store, scene);
  await add(store, filter, HELD);
  const { id } = await store.syncs.open(filter, syncPlan(filter), made());
  return { sync: id };
}

/** Like `synced`, with a list sent to the sync. */
async function listed(store: RedisStore, scene: Scene): Promise<Pick<Scene, 'sync'>> {
  const { sync } = await synced(store, scene);
  await keepOf(LISTED)(store, { ...scene, sync }, made());
  return { sync };
}

/** A grown filter's parts. */
async function exported(store: RedisStore, scene: Scene): Promise<Pick<Scene, 'parts'>> {
  await held(store, scene);
  const filter = await current(store, scene);
  await add(store, filter, MORE);
  const parts: Part[] = [];
  for await (const part of store.transfer.export(filter)) parts.push(part);
  await drop(store, scene, made());
  return { parts };
}

const nothing = () => Promise.resolve({});

const ENDS = { clear, drop: dropAny };
const AFTER_SYNC = {
  ...ENDS,
  get,
  tend,
  'open the next': openNext,
  'add an item': addLater,
  describe: describeIt,
};
const AFTER_OPEN = { ...ENDS, open, tend };
const CREATIONS = { create, drop: dropAny, import: importAll, 'create another': createBeside };
const CREATED = { ...ENDS, create };
const CLEARED = { ...CREATED, 'add an item': addLater };

const CHANGES: readonly Saga[] = [
  { name: 'create', prepare: exported, run: create, next: CREATIONS, undone: true },
  { name: 'import', prepare: exported, run: importAll, next: CREATIONS, undone: true },
  { name: 'clear', prepare: listed, run: clear, next: CLEARED },
  { name: 'drop', prepare: listed, run: drop, next: CREATED },
  { name: 'grow', prepare: held, run: addMore, next: { ...ENDS, add: addMoreAgain }, undone: true },
  { name: 'open', prepare: held, run: open, next: AFTER_OPEN, undone: true, abandoned: 'abandoned' },
  {
    ...{ name: 'grow in a sync', prepare: synced, run: keepMore, undone: true },
    next: { ...ENDS, keep: keepMoreAgain, abandon },
  },
  { name: 'commit', prepare: listed, run: commit, next: { ...AFTER_SYNC, commit } },
  { name: 'abandon', prepare: listed, run: abandon, next: { ...AFTER_SYNC, abandon } },
  { name: 'tend', prepare: listed, run: tend, next: { ...AFTER_SYNC, commit } },
];

const dead = (call: Call, part = 1 / 2) => ({ call, part });

/** Changes that take over from an instance that died, and then die too. */
const TAKING_OVER: readonly Saga[] = [
  {
    ...{ name: 'create after a dead creation', prepare: exported, dead: dead(create), run: create },
    ...{ next: CREATIONS, undone: true },
  },
  {
    ...{ name: 'create in the room of a dead creation', prepare: nothing, dead: dead(create) },
    ...{ run: createBeside, next: { 'create another': createBeside } },
  },
  { name: 'clear after a dead clear', prepare: held, dead: dead(clear), run: clear, next: CLEARED },
  { name: 'create after a dead clear', prepare: held, dead: dead(clear), run: create, next: CLEARED },
  {
    ...{ name: 'create after a dead drop', prepare: held, dead: dead(drop), run: create },
    next: { create, drop: dropAny },
  },
  {
    ...{ name: 'open after a dead opening', prepare: held, dead: dead(open, 1 / 5), run: open },
    ...{ next: AFTER_OPEN, undone: true, abandoned: 'abandoned' },
  },
  { name: 'tend after a dead commit', prepare: listed, dead: dead(commit), run: tend, next: AFTER_SYNC },
];

export const SAGAS: readonly Saga[] = [...CHANGES, ...TAKING_OVER];

/** The items found in a filter, its item count, and the number of waiting entries. */
export async function contentsOf(store: RedisStore, name: string): Promise<object> {
  const filter = await current(store, { name });
  const { items, queue } = await store.describe(filter);
  const found = await check(store, filter, ITEMS);
  return { items, waiting: queue?.waiting, found: ITEMS.filter((_, n) => found[n] === 1) };
}

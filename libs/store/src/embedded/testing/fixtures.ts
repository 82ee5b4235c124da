import { mkdtemp, rm } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { planGeometry, planLayers, positionsOf, SEED_BYTES, type Positions } from '#bloom';
import { SYSTEM_CLOCK, type Clock } from '../../clock.js';
import type { Filter, FilterSpec, Operation } from '../../port/index.js';
import { DATA_FILE, Database } from '../database/database.js';
import { LmdbEnvironment } from '../database/lmdb-environment.js';
import { DEFAULT_SIZES, type Sizes } from '../database/sizes.js';
import { DirectoryDisk } from '../directory/space.js';
import { EmbeddedStore, type EmbeddedOptions } from '../embedded-store.js';
import { Engine } from '../engine/engine.js';

/** Every filter's seed, so that the same items cause the same false positives in each run. */
const SEED = Buffer.alloc(SEED_BYTES, 'unseen');

/** A temporary directory, and the stores that a spec opens in it. Closes and removes them. */
export class Workbench {
  private directory: string | undefined;
  private readonly stores: EmbeddedStore[] = [];

  async dataDir(): Promise<string> {
    this.directory ??= await mkdtemp(join(tmpdir(), 'unseen-embedded-'));
    return this.directory;
  }

  async open(options: Partial<EmbeddedOptions> = {}): Promise<EmbeddedStore> {
    const store = await EmbeddedStore.open({ dataDir: await this.dataDir(), ...options });
    this.stores.push(store);
    return store;
  }

  /** A store with other sizes, and its database. */
  async sized(
    sizes: Partial<Sizes>,
    clock: Clock = SYSTEM_CLOCK,
  ): Promise<{ readonly store: EmbeddedStore; readonly database: Database }> {
    const directory = await this.dataDir();
    const environment = new LmdbEnvironment(join(directory, DATA_FILE));
    const database = new Database(environment, undefined, { ...DEFAULT_SIZES, ...sizes });
    const place = { database, disk: new DirectoryDisk(directory), lock: { release: () => undefined } };
    const store = await EmbeddedStore.on({ clock }, (session) => Engine.on(place, session));
    this.stores.push(store);
    return { store, database };
  }

  async tidy(): Promise<void> {
    for (const store of this.stores.splice(0)) await store.close();
    if (this.directory) await rm(this.directory, { recursive: true, force: true });
    this.directory = undefined;
  }
}

/** The spec of a counting filter for 10,000 items, with semantics `set`, unless `changes` say otherwise. */
export function filterSpec(store: EmbeddedStore, changes: Partial<FilterSpec> = {}): FilterSpec {
  const chosen = {
    name: 'seen',
    kind: 'filter',
    type: 'counting',
    semantics: 'set',
    capacity: 10_000,
    errorRate: 0.001,
    ...changes,
  } as const;
  const { maxAgeSeconds } = changes;
  const cellBits = maxAgeSeconds !== undefined ? 8 : chosen.type === 'counting' ? 4 : 1;
  const geometry = planGeometry({ ...chosen, cellBits }, store.segmentation);
  return { geometry, seed: SEED, ...chosen };
}

/** Creates a filter with the spec from `filterSpec`. */
export async function createFilter(store: EmbeddedStore, changes: Partial<FilterSpec> = {}): Promise<Filter> {
  const { filter } = await store.create(filterSpec(store, changes), operation());
  return filter;
}

/** Like `createFilter`, for a filter that grows. */
export async function createGrowing(
  store: EmbeddedStore,
  changes: Partial<FilterSpec> = {},
): Promise<Filter> {
  const spec = filterSpec(store, changes);
  const layers = planLayers({ ...spec, cellBits: spec.geometry.cellBits }, store.segmentation, Infinity);
  return (await store.create({ ...spec, geometry: layers[0].geometry, layers }, operation())).filter;
}

/** A new operation with a generated id, sent once. */
export function operation(changes: Partial<Operation> = {}): Operation {
  return {
    id: randomUUID(),
    origin: 'made',
    fingerprint: 'f',
    repeat: false,
    deadline: Infinity,
    ...changes,
  };
}

/** The system clock with a different time of day. */
export function clockOf(now: () => number): Clock {
  return { ...SYSTEM_CLOCK, now };
}

/** The positions of some keys in a filter. */
export function positions(filter: Filter, keys: readonly string[]): Positions {
  return positionsOf(keys, filter.seed, filter.geometry);
}

/** `count` keys, starting at number `from`. */
export function keys(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, i) => `https://example.org/${from + i}`);
}

import { planLayers } from '#bloom';
import type { Clock } from '../../clock.js';
import type { Filter, PerHost, Queued } from '../../port/index.js';
import type { Database } from '../database/database.js';
import type { Sizes } from '../database/sizes.js';
import type { EmbeddedStore } from '../embedded-store.js';
import { filterSpec, operation, positions, Workbench } from './fixtures.js';

export const LEASE_MS = 60_000;

/** A Workbench for stores whose sets have `perHost`, with calls on these sets. */
export class HostBench extends Workbench {
  private readonly databases = new WeakMap<EmbeddedStore, Database>();

  async hosts(sizes: Partial<Sizes>, clock?: Clock): Promise<EmbeddedStore> {
    const { store, database } = await this.sized(sizes, clock);
    this.databases.set(store, database);
    return store;
  }

  databaseOf(store: EmbeddedStore): Database {
    return this.databases.get(store) as Database;
  }

  /** How many rows a table has. */
  rowsOf(store: EmbeddedStore, table: 'log' | 'lanes' | 'dead' | 'due' | 'leases'): number {
    return [...this.databaseOf(store)[table].getKeys({})].length;
  }
}

export async function create(
  store: EmbeddedStore,
  perHost: PerHost,
  capacity = 10_000,
  { layers: count = 1, ...more }: { readonly maxAttempts?: number; readonly layers?: number } = {},
): Promise<Filter> {
  const spec = filterSpec(store, { kind: 'visited-set', errorRate: 1e-9, capacity, ...more });
  const segmentation = { ...store.segmentation, spread: 1 };
  const [first, ...others] = planLayers({ ...spec, cellBits: 4 }, segmentation, Infinity);
  const layers = [first, ...others.slice(0, count - 1)] as const;
  return (await store.create({ ...spec, geometry: layers[0].geometry, layers, perHost }, operation())).filter;
}

/** One URL for each of `count` hosts, starting at number `from`. */
export const urls = (count: number, from = 0, page = ''): string[] =>
  Array.from({ length: count }, (_, n) => `http://h${from + n}.example/${page}`);

/** Some URLs of a host. */
export const pages = (host: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `http://${host}.example/${n}`);

export async function discover(
  store: EmbeddedStore,
  filter: Filter,
  keys: readonly string[],
  by = operation(),
  how: Queued = {},
) {
  const hosts = keys.map((key) => new URL(key).hostname);
  const queued = { payloads: keys, hosts, ...how };
  return [...(await store.counters.add(filter, positions(filter, keys), by, queued))];
}

export async function lease(store: EmbeddedStore, filter: Filter, max: number): Promise<string[]> {
  return (await store.queue.lease(filter, max, LEASE_MS, operation())).map(({ payload }) => payload);
}

import { planGeometry, planLayers, positionsOf } from '#bloom';
import type { Filter, Sync, SyncPlan } from '#store';
import { add, check, deadline, made, remove, SEGMENTED } from './calls.js';
import { until } from '../support/until.js';
import type { Subject } from './subject.js';

/** A sync's parameters. The default is the filter's own value. */
export interface PlanOptions {
  readonly capacity?: number;
  readonly errorRate?: number;
}

/** Plans a sync's layers as the service does. */
export function syncPlan(filter: Filter, options: PlanOptions = {}): SyncPlan {
  const { capacity = filter.capacity, errorRate = filter.errorRate } = options;
  const { hashScheme, cellBits } = filter.geometry;
  const segments = { maxSegmentBytes: 2 ** 20, minSegments: filter.spread, minSegmentBytes: 0 };
  const spread = { ...SEGMENTED, ...segments, spread: filter.geometry.spread };
  const sizing = { capacity, errorRate, cellBits };
  if (!filter.layers)
    return { capacity, errorRate, geometry: { ...planGeometry(sizing, spread), hashScheme } };
  const layers = planLayers(sizing, spread, Infinity).map((layer) => ({
    ...layer,
    geometry: { ...layer.geometry, hashScheme },
  }));
  return { capacity, errorRate, geometry: layers[0]!.geometry, layers };
}

/** The calls of a sync. They use the filter's current handle, and each has its own operation. */
export class SyncCalls {
  constructor(private readonly subject: Pick<Subject, 'store'>) {}

  /** The filter's current handle. */
  current({ name, kind }: Filter): Promise<Filter> {
    return this.subject.store.open(name, kind, { fresh: true });
  }

  async open(filter: Filter, options: PlanOptions = {}, operation = made()): Promise<Sync> {
    const current = await this.current(filter);
    return this.subject.store.syncs.open(current, syncPlan(current, options), operation);
  }

  async get(filter: Filter, { id }: Pick<Sync, 'id'>): Promise<Sync> {
    return this.subject.store.syncs.get(await this.current(filter), id);
  }

  async keep(
    filter: Filter,
    { id }: Pick<Sync, 'id'>,
    keys: readonly string[],
    operation = made(),
  ): Promise<number[]> {
    const current = await this.current(filter);
    const positions = positionsOf(keys, current.seed, current.geometry);
    const hosts = current.perHost && keys.map((key) => new URL(key).hostname);
    return [...(await this.subject.store.syncs.keep(current, id, positions, operation, hosts))];
  }

  async commit(filter: Filter, { id }: Pick<Sync, 'id'>, most = 1): Promise<Sync> {
    return this.subject.store.syncs.commit(await this.current(filter), id, most, deadline());
  }

  async abandon(filter: Filter, { id }: Pick<Sync, 'id'>): Promise<Sync> {
    return this.subject.store.syncs.abandon(await this.current(filter), id, deadline());
  }

  async add(filter: Filter, keys: readonly string[]): Promise<number[]> {
    return add(this.subject.store, await this.current(filter), keys);
  }

  async check(filter: Filter, keys: readonly string[]): Promise<number[]> {
    return check(this.subject.store, await this.current(filter), keys);
  }

  async remove(filter: Filter, keys: readonly string[]): Promise<number[]> {
    return remove(this.subject.store, await this.current(filter), keys);
  }
}

/** Opens a sync, and closes the store while it copies the queue. */
export async function brokenCopy(
  subject: Subject,
  filter: Filter,
  plan: PlanOptions = {},
): Promise<Pick<Sync, 'id'>> {
  const calls = new SyncCalls(subject);
  const opening = calls.open(filter, plan);
  const settled = opening.then(
    () => undefined,
    () => undefined,
  );
  const found: Sync[] = [];
  await until('the copy has begun', async () => {
    const { sync } = await subject.store.describe(await calls.current(filter));
    if (sync && sync.kept > 0) found.push(sync);
    return found.length > 0;
  });
  await subject.reopen();
  await settled;
  return found[0] as Sync;
}

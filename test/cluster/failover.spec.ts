import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Filter } from '#store';
import type { RedisStore } from '#store/redis';
import { CATALOGUE } from '../../libs/store/src/redis/layout/keys.js';
import { add, check, count, items, keyed, makeFilter } from '../contract/calls.js';
import { failOverGracefully, holdBack, killMaster } from '../support/redis-failover.js';
import { until } from '../support/until.js';
import { Failover, masterOf, masterOfSegment } from './failover.js';
import { addWhile, expectEachOnce, type Attempt } from './load.js';

const TIMEOUT_MS = 3_000;
/** Number of adds to the victim before and after each event. */
const SOME = 50;
const SEGMENTED = { maxSegmentBytes: 2 ** 20, minSegments: 6, minSegmentBytes: 1 };
const LOADED = {
  semantics: 'multiset',
  capacity: 100_000,
  errorRate: 1e-6,
  segmentation: SEGMENTED,
} as const;

const told = (attempts: readonly Attempt[]) =>
  `${attempts.length} adds, ${attempts.filter(({ acknowledged }) => acknowledged).length} answered`;

describe('a master of a cluster is killed under load', () => {
  let failover: Failover;
  const stores: RedisStore[] = [];

  beforeAll(async () => {
    failover = await Failover.start();
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await failover.cluster.stop();
  });

  async function loaded(waitReplicas: number) {
    const store = await failover.open({ waitReplicas });
    stores.push(store);
    return { store, filter: await makeFilter(store, LOADED) };
  }

  it('without WAIT, its replica behind: each writer loses only its last changes, together with their records', async () => {
    const { store, filter } = await loaded(0);
    let killedAt = 0;
    const attempts = await addWhile(store, filter, TIMEOUT_MS, async (soFar) => {
      await answeredOn(0, filter, soFar, SOME);
      const letGo = await holdBack(failover.replica(0), failover.master(0));
      await answeredOn(0, filter, soFar, SOME);
      await failover.master(0).kill('SIGKILL');
      killedAt = Date.now();
      letGo();
      await killMaster(failover.master(0), [failover.replica(0)]);
      await recovered(store, filter);
    });
    const lost = await expectSuffixLost(store, filter, attempts, 0, killedAt);
    console.log(`without WAIT: ${told(attempts.flat())}, of these ${lost} lost, all answered last`);
    expect(lost).toBeGreaterThan(10);
    await expectEachOnce(store, filter, attempts.flat());
  });

  it('in order, without WAIT: no confirmed change is lost', async () => {
    const { store, filter } = await loaded(0);
    const attempts = await addWhile(store, filter, TIMEOUT_MS, async (soFar) => {
      await answeredOn(2, filter, soFar, SOME);
      await failOverGracefully(failover.replica(2));
      await answeredOn(2, filter, soFar, SOME);
    });
    const answered = attempts.flat().filter(({ acknowledged }) => acknowledged);
    console.log(`in order: ${told(attempts.flat())}`);
    const keys = answered.map(({ item }) => item);
    expect(await count(store, filter, keys)).toEqual(keys.map(() => 1));
    await expectEachOnce(store, filter, attempts.flat());
  });

  it('with WAIT for its replica: no confirmed change is lost', async () => {
    await failover.rejoin(0);
    const { store, filter } = await loaded(1);
    const attempts = await addWhile(store, filter, TIMEOUT_MS, async (soFar) => {
      await answeredOn(1, filter, soFar, SOME);
      await killMaster(failover.master(1), [failover.replica(1)]);
      const refused = () => soFar.flat().filter(({ acknowledged }) => !acknowledged).length;
      const before = refused();
      await until('a change is refused', async () => refused() > before);
    });
    const answered = attempts.flat().filter(({ acknowledged }) => acknowledged);
    console.log(`with WAIT: ${told(attempts.flat())}`);
    expect(answered.length).toBeLessThan(attempts.flat().length);
    const reader = await failover.open();
    stores.push(reader);
    const keys = answered.map(({ item }) => item);
    expect(await count(reader, filter, keys)).toEqual(keys.map(() => 1));
    // Changes in the new master's segments succeed again once it has a replica.
    await failover.rejoin(1);
    await recovered(store, filter);
    await expectEachOnce(store, filter, attempts.flat());
  });
});

describe('a replica without the latest changes takes over', () => {
  let failover: Failover;
  const stores: RedisStore[] = [];
  const catalogue = masterOf(CATALOGUE.filters);

  beforeAll(async () => {
    failover = await Failover.start();
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await failover.cluster.stop();
  });

  it.each([
    ['segments', (catalogue + 1) % 3],
    ['the catalogue', catalogue],
  ])('for %s: no stored item is "absent"', async (_, at) => {
    const store = await failover.open();
    stores.push(store);
    const old = await makeFilter(store, LOADED);
    await add(store, old, items(100));
    const made: Filter[] = [];
    await failover.losing(at, async () => {
      made.push(await store.clear(old.name, old.kind, keyed()), await makeFilter(store, LOADED));
      for (const filter of made) {
        expect(await add(store, filter, items(100))).toEqual(items(100).map(() => 1));
      }
    });
    const other = await failover.open();
    stores.push(other);
    await until('the cluster serves', async () => (await other.readiness()).ready);

    const outcomes = new Set<unknown>();
    for (const { name, kind } of made) {
      for (const each of [store, other]) {
        for (const item of items(100)) outcomes.add(await outcome(each, name, kind, item));
      }
    }
    expect([...outcomes].filter((one) => one !== 1).length).toBeGreaterThan(0);
    for (const one of outcomes) expect([1, 'STORE_DATA_LOST', 'FILTER_NOT_FOUND']).toContain(one);
  });
});

/** The result for an item, from a caller who reopens a changed filter. */
async function outcome(
  store: RedisStore,
  name: string,
  kind: Filter['kind'],
  item: string,
): Promise<unknown> {
  for (const fresh of [false, true]) {
    try {
      return (await check(store, await store.open(name, kind, { fresh }), [item]))[0];
    } catch (error) {
      if (error instanceof Error && 'code' in error) return error.code;
      if (error instanceof Error && error.name === 'StaleFilterError') continue;
      throw error;
    }
  }
  return 'STORE_DATA_LOST';
}

/** Waits until this many further adds to a master's segments have completed. */
async function answeredOn(
  master: number,
  filter: Filter,
  attempts: readonly Attempt[][],
  more: number,
): Promise<void> {
  const answered = (): number =>
    attempts
      .flat()
      .filter(({ acknowledged, segment }) => acknowledged && masterOfSegment(filter, segment) === master)
      .length;
  const before = answered();
  await until(`${more} adds are answered`, async () => answered() >= before + more);
}

/** Waits until calls succeed on every segment. */
async function recovered(store: RedisStore, filter: Filter): Promise<void> {
  await until('every segment answers', () =>
    add(store, filter, items(60, 'probe'), keyed()).then(
      () => true,
      () => false,
    ),
  );
}

/**
 * Expects that each writer has lost only a suffix of its confirmed items in the killed master's segments, and nothing
 * elsewhere. Returns the number of lost items.
 */
async function expectSuffixLost(
  store: RedisStore,
  filter: Filter,
  attempts: readonly Attempt[][],
  victim: number,
  killedAt: number,
): Promise<number> {
  let lost = 0;
  for (const writer of attempts) {
    // An add in progress when the master died may have completed on either master.
    const answered = writer.filter(
      ({ acknowledged, begunAt, endedAt }) => acknowledged && (endedAt <= killedAt || begunAt > killedAt),
    );
    const keys = answered.map(({ item }) => item);
    const counts = await count(store, filter, keys);
    const doomed = ({ segment, endedAt }: Attempt) =>
      masterOfSegment(filter, segment) === victim && endedAt <= killedAt;
    const safe = counts.filter((_, n) => !doomed(answered[n] as Attempt));
    expect(safe).toEqual(safe.map(() => 1));
    for (let segment = 0; segment < filter.geometry.segments; segment++) {
      const run = counts.filter((_, n) => answered[n]?.segment === segment && doomed(answered[n]));
      expect(run).toEqual([...run].sort((a, b) => b - a));
      lost += run.filter((one) => one === 0).length;
    }
  }
  return lost;
}

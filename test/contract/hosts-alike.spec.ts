import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  PRIORITIES,
  type EntryPage,
  type Filter,
  type HostView,
  type LeasedEntry,
  type Operation,
  type PerHost,
  type QueueEntry,
  type Store,
} from '#store';
import { HOST_QUEUE_NUMBERS, QUEUE_FIELD } from '../../libs/store/src/redis/scripts/queue-state.js';
import { exportFile, importFile } from '../support/export-files.js';
import { clock } from '../support/clock.js';
import { Random, SEED } from '../support/random.js';
import { embedded, redis, type FoundKey, type RedisHarness, type StoreHarness } from '../support/stores.js';
import { until } from '../support/until.js';
import { check, discover, filterSpec, keyed, made, remove, type FilterOptions } from './calls.js';
import { hostOptions } from './host-calls.js';
import { SyncCalls } from './sync-calls.js';

/** All times are whole multiples of it, so that the time between the calls on both stores makes no difference. */
const UNIT_MS = 1_000_000;
/** Time between two steps. It orders the times of their lanes. */
const STEP_MS = 50;
const STEPS = 50;
/** Entries in all lanes. */
const ALL = 80;
/** Enough calls to bring back all entries that are due: Redis moves some with each call. */
const DUE_CALLS = 20;
/**
 * Scheduled entries come due at times between those of other entries. If entries of one lane come due in the same
 * change, they have no defined order.
 */
const BETWEEN_MS = UNIT_MS / 2;

interface Plan {
  readonly perHost: PerHost;
  readonly more?: FilterOptions;
  /** Forgets items. */
  readonly forgets?: true;
  /** Time passes, and leases and delays end. */
  readonly passes?: true;
  /** Also sets the clock back. */
  readonly setsBack?: true;
  /** Discovers with priorities and times, acknowledges for later, and lists entries. */
  readonly orders?: true;
  /** Drops entries. */
  readonly drops?: true;
  /** Commits and abandons syncs. */
  readonly syncs?: true;
  /** Exports, and continues with an import. Sometimes the export is from the other store. */
  readonly copies?: true;
}

const PLANS: Readonly<Record<string, Plan>> = {
  'without limits': { perHost: {}, passes: true },
  'with a delay': { perHost: { delayMs: 2 * UNIT_MS }, passes: true, setsBack: true },
  'with maxLeased': { perHost: { maxLeased: 2 }, passes: true },
  'one lease at a time': { perHost: { delayMs: UNIT_MS, maxLeased: 1 }, passes: true, setsBack: true },
  'with maxUrls': { perHost: { maxUrls: 7 }, forgets: true },
  'with all limits': { perHost: { maxUrls: 9, maxLeased: 2, delayMs: UNIT_MS }, forgets: true, passes: true },
  'with a delay, and forgets': { perHost: { delayMs: 3 * UNIT_MS }, forgets: true, passes: true },
  'that ages': {
    ...{ perHost: { maxUrls: 6, delayMs: UNIT_MS }, more: { maxAgeSeconds: 13_000 } },
    ...{ forgets: true, passes: true },
  },
  'with priorities and times': { perHost: {}, passes: true, orders: true },
  'with times, and a clock that is set back': {
    ...{ perHost: { delayMs: UNIT_MS }, passes: true, orders: true, setsBack: true },
  },
  'with priorities, times, and all limits': {
    ...{ perHost: { maxUrls: 9, maxLeased: 2, delayMs: UNIT_MS } },
    ...{ forgets: true, passes: true, orders: true, drops: true },
  },
  'that are copied': {
    ...{ perHost: { maxUrls: 9, maxLeased: 2, delayMs: UNIT_MS }, passes: true, orders: true, copies: true },
  },
  'with syncs': { perHost: { maxUrls: 9, delayMs: UNIT_MS }, forgets: true, passes: true, syncs: true },
  'that ages, with syncs': {
    ...{ perHost: { maxUrls: 9 }, more: { maxAgeSeconds: 13_000 } },
    ...{ forgets: true, passes: true, syncs: true },
  },
};

/** A store, its set, and the entries that are leased from it. */
interface Side {
  readonly store: Store;
  filter: Filter;
  readonly held: Map<string, LeasedEntry>;
}

describe('per-host queues, in both stores', () => {
  let harnesses: { readonly embedded: StoreHarness; readonly redis: RedisHarness };
  const stores: Store[] = [];
  beforeAll(async () => {
    harnesses = { embedded: await embedded.setUp(), redis: await redis.setUp() };
    stores.push(await harnesses.embedded.open(), await harnesses.redis.open());
  });
  afterAll(() => Promise.all(Object.values(harnesses).map((one: StoreHarness) => one.tearDown())));

  /** How many entries wait in all lanes, as Redis stores it. */
  const storedWaiting = async ({ generation }: Filter): Promise<number> => {
    const [{ key, client }] = (await harnesses.redis.find(`unseen:{${generation}.0.*}:meta`)) as [FoundKey];
    const numbers = (await client.hgetBuffer(key, QUEUE_FIELD)) as Buffer;
    return numbers.readUIntBE(6 * HOST_QUEUE_NUMBERS.indexOf('waiting'), 6);
  };

  it.each(Object.entries(PLANS))(`are alike: %s (seed ${SEED})`, async (_, plan) => {
    const random = new Random();
    clock.toStartOf(13 * UNIT_MS);
    clock.advance(UNIT_MS / 3);
    const spec = filterSpec(hostOptions(plan.perHost, { maxAttempts: 3, ...plan.more }));
    const sides: Side[] = [];
    for (const store of stores) {
      const { filter } = await store.create(spec, made());
      sides.push({ store, filter, held: new Map() });
    }
    const log: string[] = [];
    /** Calls both stores, and expects the same. */
    const both = async <T>(what: string, call: (side: Side) => Promise<T>): Promise<T> => {
      log.push(what);
      const [one, other] = [await call(sides[0]!), await call(sides[1]!)];
      try {
        expect(other).toEqual(one);
      } catch (error) {
        throw new Error(`${log.slice(-30).join('\n')}\n${String(error)}`, { cause: error });
      }
      return one;
    };
    const released = ({ store, filter }: Side) => store.queue.release(filter, [], made());
    const everything = plan.forgets === true && plan.passes === true;
    let known: string[] = [];
    const leased = () => [...sides[0]!.held.keys()];
    const draw = () => leased().filter(() => random.below(3) > 0);
    const ids = ({ held }: Side, urls: readonly string[]) => urls.map((url) => held.get(url)!.id);
    const settled = async (
      what: string,
      urls: readonly string[],
      act: (side: Side, ids: string[], operation: Operation) => Promise<Uint8Array>,
    ): Promise<void> => {
      const operation = keyed();
      const call = async (side: Side) => [...(await act(side, ids(side, urls), operation))];
      const answers = await both(`${what} ${urls.join(' ')}`, call);
      if (random.below(4) === 0) expect(await both('repeat', call)).toEqual(answers);
      if (!what.startsWith('extend')) for (const { held } of sides) for (const url of urls) held.delete(url);
    };
    /** After the clock was set back, a block may begin again in one store, while the other has deleted the lane. */
    const isOnlyBlocked = ({ name: _, nextAt, own, blockedUntil, ...counts }: HostView): boolean =>
      plan.setsBack === true && !own && Object.values(counts).every((count) => count === 0);
    const hosts = async ({ store, filter }: Side) => {
      const { hosts } = await store.hosts.list(filter, 1_000);
      const views = hosts.filter((view) => !isOnlyBlocked(view)).map(({ nextAt: _, ...view }) => view);
      return views.toSorted(({ name: one }, { name: other }) => (one < other ? -1 : 1));
    };
    const entriesOf = async ({ store, filter }: Side): Promise<QueueEntry[]> => {
      const found: QueueEntry[] = [];
      for (let after: string | undefined, isFirst = true; isFirst || after; isFirst = false) {
        const page: EntryPage = await store.queue.entries(filter, {}, 7, after);
        found.push(...page.entries);
        after = page.next;
      }
      return found;
    };
    const same = async (): Promise<void> => {
      await both('counts', async ({ store, filter }) => {
        const { oldestSeconds: _, ...queue } = (await store.describe(filter)).queue!;
        return queue;
      });
      await both('hosts', hosts);
      const { store, filter } = sides[1]!;
      const views = (await store.hosts.list(filter, 1_000)).hosts;
      expect(views.reduce((sum, { waiting }) => sum + waiting, 0)).toBe(await storedWaiting(filter));
    };
    const steps: (() => Promise<unknown>)[] = [
      async () => {
        const host = random.below(6);
        const some = Array.from(
          { length: 1 + random.below(8) },
          () => `http://h${random.below(3) === 0 ? random.below(6) : host}.example/${random.below(15)}`,
        );
        known = [...new Set([...known, ...some])];
        const operation = keyed();
        const order = plan.orders && {
          priority: random.pick(PRIORITIES),
          delayMs: random.pick([0, 0, 0, BETWEEN_MS, 3 * UNIT_MS + BETWEEN_MS]),
        };
        const call = ({ store, filter }: Side) => discover(store, filter, some, operation, order);
        await both(`discover ${JSON.stringify(order)} ${some.join(' ')}`, call);
        if (random.below(4) === 0) await both('repeat', call);
      },
      async () => {
        const max = everything ? ALL : 1 + random.below(6);
        const maxPerHost = random.pick([undefined, 1, 2, 5]);
        const ms = (1 + random.below(3)) * UNIT_MS;
        const operation = keyed();
        const call = async ({ store, filter, held }: Side) => {
          const limits = maxPerHost === undefined ? undefined : { maxPerHost };
          const entries = await store.queue.lease(filter, max, ms, operation, limits);
          for (const entry of entries) held.set(entry.payload, entry);
          const found = entries.map(({ payload, attempt }) => `${payload} ${attempt}`);
          return everything ? found.sort() : found;
        };
        await both(`lease ${max} ${maxPerHost} ${ms}`, call);
        if (random.below(4) === 0) await both('repeat', call);
      },
      () => {
        const again =
          plan.orders && random.below(2) === 0 ? random.below(4) * UNIT_MS + BETWEEN_MS : undefined;
        return settled(`ack ${again}`, draw(), ({ store, filter }, some, op) =>
          store.queue.ack(filter, some, op, again),
        );
      },
      () => {
        const release = {
          delayMs: random.pick([0, 0, UNIT_MS, 2 * UNIT_MS]),
          hostDelayMs: random.pick([0, 0, 0, 3 * UNIT_MS]),
          countAttempt: random.below(3) > 0,
          reason: random.pick(['', 'why']),
        };
        return settled(`release ${JSON.stringify(release)}`, draw(), ({ store, filter }, some, op) =>
          store.queue.release(filter, some, op, release),
        );
      },
      () => {
        const ms = (1 + random.below(4)) * UNIT_MS;
        return settled(`extend ${ms}`, draw(), ({ store, filter }, some, op) =>
          store.queue.extend(filter, some, ms, op),
        );
      },
      async () => {
        const chosen = random.below(3);
        await both(`dead letters ${chosen}`, async ({ store, filter }) => {
          const { entries } = await store.queue.deadLetters(filter, 1_000);
          const some = entries.filter((_, n) => n % 3 >= chosen).map(({ id }) => id);
          const answers = await store.queue[chosen === 0 ? 'purge' : 'putBack'](filter, some, made());
          const letters = entries.map(({ payload, attempt, reason }) => `${payload} ${attempt} ${reason}`);
          return { letters: everything ? letters.sort() : letters, answers: [...answers] };
        });
      },
      async () => {
        const { maxUrls } = plan.perHost;
        const own = {
          ...(random.below(2) === 0 && { delayMs: random.below(3) * UNIT_MS }),
          ...(random.below(2) === 0 && { maxLeased: 1 + random.below(3) }),
          ...(maxUrls !== undefined && random.below(2) === 0 && { maxUrls: 1 + random.below(9) }),
        };
        const settings = {
          ...(random.below(2) === 0 && { own }),
          ...(random.below(3) === 0 && {
            blockedUntil: Math.floor(clock.now()) + (1 + random.below(3)) * UNIT_MS,
          }),
        };
        const operation = keyed();
        const host = `h${random.below(6)}.example`;
        const call = async ({ store, filter }: Side) => {
          const { nextAt: _, ...view } = await store.hosts.set(filter, host, settings, operation);
          return view;
        };
        const view = await both(`set ${host} ${JSON.stringify(settings)}`, call);
        if (random.below(4) === 0) expect(await both('repeat', call)).toEqual(view);
      },
      async () => {
        const host = `h${random.below(6)}.example`;
        const operation = keyed();
        const live = await both(
          `entries of ${host}`,
          async (side) => (await entriesOf(side)).filter((entry) => entry.host === host).length,
        );
        const call = async ({ store, filter }: Side) => {
          const dropped = await store.hosts.drop(filter, host, operation);
          if (!plan.drops) return dropped;
          // The count includes entries that were dropped before, if the queue has not removed them yet.
          expect(dropped).toBeGreaterThanOrEqual(live);
          return undefined;
        };
        const dropped = await both(`drop ${host}`, call);
        if (random.below(4) === 0) expect(await both('repeat', call)).toBe(dropped);
        const urls = leased().filter((url) => new URL(url).hostname === host);
        await settled('ack dropped', urls, ({ store, filter }, some, op) =>
          store.queue.ack(filter, some, op),
        );
      },
      async () => {
        if (!plan.passes) return;
        log.push('time passes');
        for (let left = 2 * (1 + random.below(2)); left > 0; left--) {
          clock.advance(BETWEEN_MS);
          for (let n = 0; n < DUE_CALLS; n++) await both('due', async (side) => [...(await released(side))]);
        }
        if (!plan.forgets) return;
        for (const { store, filter } of sides)
          await until('the queue is swept', async () => {
            const { forgotten } = (await store.describe(filter)).queue!;
            return forgotten === 0;
          });
        await same();
      },
    ];
    if (plan.setsBack) {
      steps.push(async () => {
        log.push('set back');
        clock.advance(-random.below(3) * UNIT_MS);
        for (let n = 0; n < DUE_CALLS; n++) await both('due', async (side) => [...(await released(side))]);
      });
    }
    if (plan.forgets) {
      steps.push(async () => {
        // In Redis, a call on one entry of a lease settles all of the lease's forgotten entries. In the embedded store,
        // it settles only its own.
        const some = known.filter((url) => !sides[0]!.held.has(url) && random.below(6) === 0);
        await both(`forget ${some.join(' ')}`, ({ store, filter }) => remove(store, filter, some));
      });
    }
    if (plan.orders) {
      steps.push(() =>
        both('entries', async (side) =>
          (await entriesOf(side))
            .map(({ payload, state, attempt }) => `${payload} ${state} ${attempt}`)
            .sort(),
        ),
      );
    }
    if (plan.drops) {
      steps.push(async () => {
        const chosen = random.below(5);
        await both(`drop entries ${chosen}`, async (side) => {
          const isChosen = ({ payload }: QueueEntry) =>
            Number(payload.split('/').at(-1)) % 5 === chosen && !side.held.has(payload);
          const some = (await entriesOf(side)).filter(isChosen);
          await side.store.queue.drop(
            side.filter,
            some.map(({ id }) => id),
            made(),
          );
          return some.map(({ payload }) => payload).sort();
        });
      });
    }
    if (plan.syncs) {
      steps.push(async () => {
        const listed = known.filter(() => random.below(2) === 0);
        const some = known.filter(() => random.below(5) === 0);
        const gone = known.filter((url) => !sides[0]!.held.has(url) && random.below(8) === 0);
        const isCommitted = random.below(3) > 0;
        const what = `list ${listed.join(' ')}; discover ${some.join(' ')}; forget ${gone.join(' ')}`;
        await both(`sync ${isCommitted}: ${what}`, async (side) => {
          const syncs = new SyncCalls(side);
          const id = await syncs.open(side.filter);
          await syncs.keep(side.filter, id, listed);
          const answers = [await discover(side.store, side.filter, some, made())];
          answers.push(await remove(side.store, side.filter, gone));
          await (isCommitted ? syncs.commit(side.filter, id) : syncs.abandon(side.filter, id));
          side.filter = await syncs.current(side.filter);
          return answers;
        });
        const [one, other] = sides as [Side, Side];
        await until('the lanes of both are renewed', async () =>
          isDeepStrictEqual(await hosts(one), await hosts(other)),
        );
      });
    }
    if (plan.copies) {
      steps.push(async () => {
        const files = [];
        for (const { store, filter } of sides) files.push(await exportFile(store, filter));
        const isCrossed = random.below(2) === 0;
        if (isCrossed) files.reverse();
        log.push(`copy ${isCrossed}`);
        const name = `${spec.name}.${random.below(1e9)}`;
        for (const [n, side] of sides.entries()) {
          const { filter } = side;
          side.filter = await importFile(side.store, files[n]!, made(), name);
          side.held.clear();
          await side.store.drop(filter.name, filter.kind, made());
        }
      });
    }
    for (let step = 0; step < STEPS; step++) {
      clock.advance(STEP_MS);
      await random.pick(steps)();
      await both('check', ({ store, filter }) => check(store, filter, known));
      if (!plan.forgets) await same();
    }
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Settled, StoreError, type Filter, type Operation, type Part, type Store } from '#store';
import { RedisStore } from '#store/redis';
import {
  add,
  discover,
  filterSpec,
  items,
  keyed,
  made,
  makeFilter,
  remove,
  type FilterOptions,
} from '../contract/calls.js';
import { RedisFilter } from '../../libs/store/src/redis/layout/filter.js';
import { CounterModel } from '../support/counter-model.js';
import { Random, SEED } from '../support/random.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { TcpProxy, type Direction } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';

/**
 * Cuts the connection to Redis before and within each request and reply of a mutation. Redis executes only whole
 * requests, and the client reads only whole replies. So it makes no difference at which byte of a request or reply the
 * cut comes. A second fault cuts off only the client. The commands that it had sent arrive long after everything is
 * done.
 *
 * A client waits a while before it reconnects. So several lanes run in parallel, each with its own store, proxy and
 * filter.
 */
const LANES = 8;
const TIMEOUT_MS = 10_000;
/** Time for a call that must fail instead of waiting for the connection to return. */
const SHORT_MS = 15;
const WAIT_MS = 60_000;
const TRIES = 20;

const random = new Random();

let server: RedisServer;
/** Connected without a proxy, to read the results. */
let direct: RedisStore;
const lanes: Lane[] = [];

interface Lane {
  readonly store: RedisStore;
  readonly proxy: TcpProxy;
}

beforeAll(async () => {
  server = await startRedis();
  direct = await RedisStore.open({ url: server.url, timeoutMs: TIMEOUT_MS });
  for (let lane = 0; lane < LANES; lane++) {
    const proxy = await TcpProxy.start(server.port);
    const store = await RedisStore.open({ url: `redis://127.0.0.1:${proxy.port}`, timeoutMs: TIMEOUT_MS });
    lanes.push({ store, proxy });
  }
});
afterAll(async () => {
  await Promise.all(lanes.map(({ store }) => store.close()));
  await Promise.all(lanes.map(({ proxy }) => proxy.stop()));
  await direct.close();
  await server.stop();
});

/** A mutation that is cut again and again in one lane, on that lane's own data. */
interface Subject<T> {
  /** Runs undisturbed before each cut. */
  prepare?(round: number): Promise<void>;
  /** Runs on the store whose connection is cut. */
  run(store: Store, operation: Operation, round: number): Promise<T>;
  /** An undisturbed twin's answer. */
  expected(round: number): T;
  /** Expects that nothing was lost or done twice. */
  verify(round: number): Promise<void>;
  /** Expects the state that `verify` left. */
  verifyAgain(round: number): Promise<void>;
}

/** Where a fault strikes. */
interface Place {
  readonly direction: Direction;
  /** The number of whole requests or replies that pass first. */
  readonly frames: number;
  /** The number of bytes that pass after them. */
  readonly bytes: number;
  /** Whether the first call has no time for its own retries. */
  readonly hurried: boolean;
}

/** How long a call's requests and replies are. */
type Lengths = Readonly<Record<Direction, readonly number[]>>;

interface Figures {
  places: number;
  cuts: number;
  /** How many failed calls the caller repeated. The store's own retries saved all other calls. */
  failed: number;
}

/** Repeats the call with the same operation until it gets an answer. */
async function answered<T>(
  { store }: Lane,
  subject: Subject<T>,
  operation: Operation,
  round: number,
  { hurried }: Place,
  figures: Figures,
): Promise<T> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const deadline = Date.now() + (attempt === 0 && hurried ? SHORT_MS : WAIT_MS);
    try {
      return await subject.run(store, { ...operation, deadline }, round);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      expect(error.code).toBe('STORE_UNAVAILABLE');
      figures.failed++;
    }
  }
  throw new Error(`no answer in ${TRIES} tries`);
}

async function connected({ store }: Lane): Promise<void> {
  await until('the store is connected', async () => (await store.readiness()).ready);
}

/** A fault of a connection, and the places at which it may strike. */
interface Fault {
  /** In arbitrary order. */
  places(passed: Lengths): Place[];
  /** Causes the fault in a lane. Returns a function that undoes it and resolves to whether it has happened. */
  cause(lane: Lane, place: Place): () => Promise<boolean>;
}

/**
 * Cuts before each request and reply, and at `within` random bytes in each. In every other round, each place is
 * hurried.
 */
function cutAround({ within, rounds }: Cuts): Fault {
  return {
    places: (passed) =>
      (['request', 'reply'] as const).flatMap((direction) =>
        passed[direction].flatMap((length, frames) => {
          // In another round the same request may be slightly shorter.
          const most = Math.floor(length * 0.8);
          const bytes = Array.from({ length: within }, () => 1 + random.below(most));
          return Array.from({ length: rounds }, (_, round) =>
            [0, ...bytes].map((bytes, i): Place => ({
              direction,
              frames,
              bytes,
              hurried: (frames + i + round) % 2 === 0,
            })),
          ).flat();
        }),
      ),
    cause({ proxy }, { direction, bytes, frames }) {
      proxy.cutAfter(direction, bytes, frames);
      return async () => proxy.disarm();
    },
  };
}

interface Cuts {
  readonly within: number;
  readonly rounds: number;
}

/** For a mutation that sends one request. */
const ONE_REQUEST: Cuts = { within: 3, rounds: 2 };
/** For a mutation that sends dozens of requests. */
const DOZENS: Cuts = { within: 1, rounds: 1 };

/** Delays at every `step`th byte of the requests, from a random offset, and at the last byte. */
function delayEvery(step: number): Fault {
  return {
    places({ request }) {
      const total = request.reduce((sum, length) => sum + length, 0);
      const first = random.below(step);
      const bytes = Array.from({ length: Math.floor(total / step) }, (_, i): number => first + i * step);
      return [...bytes, total - 1].map((bytes, i): Place => ({
        direction: 'request',
        frames: 0,
        bytes,
        hurried: i % 2 === 0,
      }));
    },
    cause: ({ proxy }, { bytes }) => proxy.delayAfter(bytes),
  };
}

async function everywhere<T>(make: (lane: Lane) => Promise<Subject<T>>, fault: Fault): Promise<Figures> {
  const subjects = await Promise.all(lanes.map(make));
  const figures: Figures = { places: 0, cuts: 0, failed: 0 };
  const [lane, subject] = [lanes[0]!, subjects[0]!];
  let round = 0;
  const undisturbed = async (): Promise<Lengths> => {
    await subject.prepare?.(++round);
    const watched = lane.proxy.watchFrames();
    const answer = await subject.run(lane.store, keyed(), round);
    expect(answer).toEqual(subject.expected(round));
    const passed = watched();
    await subject.verify(round);
    await subject.verifyAgain(round);
    return passed;
  };
  // The first call sends the whole script.
  await undisturbed();
  const places = fault.places(await undisturbed());
  figures.places = places.length;
  await Promise.all(
    lanes.map(async (lane, n) => {
      const subject = subjects[n]!;
      for (let next = places.pop(), round = 10; next; next = places.pop(), round++) {
        await subject.prepare?.(round);
        await connected(lane);
        const undo = fault.cause(lane, next);
        const operation = keyed();
        const answer = await answered(lane, subject, operation, round, next, figures);
        expect([next, answer]).toEqual([next, subject.expected(round)]);
        expect(await subject.run(direct, operation, round)).toEqual(answer);
        await subject.verify(round);
        if (await undo()) figures.cuts++;
        await subject.verifyAgain(round);
      }
    }),
  );
  return figures;
}

async function expectModel(filter: Filter, model: CounterModel): Promise<void> {
  for (let segment = 0; segment < filter.geometry.segments; segment++) {
    const bytes = Buffer.from(await direct.segmentBytes(filter, segment));
    expect(bytes.equals(model.segmentBytes(segment))).toBe(true);
  }
  expect(await direct.describe(filter)).toMatchObject(model.stats());
}

/** Stops the store from looking for other instances' items every second, which would add a request in some rounds. */
function alone(filter: Filter): Filter {
  RedisFilter.of(filter).stack.counted(Infinity);
  return filter;
}

/** Adds to or removes from a multiset filter, two items at a time. A model makes the same changes. */
async function cells(act: 'add' | 'remove'): Promise<Subject<number[]>> {
  const filter = alone(await makeFilter(direct, { semantics: 'multiset', capacity: 1_000, errorRate: 0.2 }));
  const model = new CounterModel(filter);
  const keys = (round: number) => items(2, `round ${round}`);
  const done = new Map<number, number[]>();
  return {
    async prepare(round) {
      if (act === 'add') return;
      expect(await add(direct, filter, keys(round))).toEqual(model.add(keys(round)));
    },
    run: (store, operation, round) => (act === 'add' ? add : remove)(store, filter, keys(round), operation),
    expected(round) {
      if (!done.has(round)) done.set(round, model[act](keys(round)));
      return done.get(round)!;
    },
    verify: () => expectModel(filter, model),
    verifyAgain: () => expectModel(filter, model),
  };
}

/** A visited set's queue, one URL at a time. */
async function queue(verb: 'discover' | 'lease' | 'ack'): Promise<Subject<unknown>> {
  const filter = alone(await makeFilter(direct, { kind: 'visited-set', capacity: 1_000, errorRate: 1e-6 }));
  const url = (round: number) => [`https://example.org/${round}`];
  const lease = () => direct.queue.lease(filter, 10, 60_000, made());
  let leased = '';
  const settle = async (id: string) => {
    expect([...(await direct.queue.ack(filter, [id], made()))]).toEqual([Settled.Done]);
  };
  return {
    async prepare(round) {
      if (verb !== 'discover') expect(await discover(direct, filter, url(round))).toEqual([1]);
      if (verb === 'ack') leased = (await lease())[0]!.id;
    },
    async run(store, operation, round) {
      if (verb === 'discover') return discover(store, filter, url(round), operation);
      if (verb === 'ack') return [...(await store.queue.ack(filter, [leased], operation))];
      const entries = await store.queue.lease(filter, 10, 60_000, operation);
      leased = entries[0]?.id ?? '';
      return entries.map(({ payload, attempt }) => ({ payload, attempt }));
    },
    expected(round) {
      return verb === 'lease' ? [{ payload: url(round)[0], attempt: 1 }] : [1];
    },
    async verify(round) {
      if (verb === 'discover') {
        const entries = await lease();
        expect(entries.map(({ payload }) => payload)).toEqual(url(round));
        leased = entries[0]!.id;
      }
      if (verb !== 'ack') await settle(leased);
    },
    async verifyAgain() {
      const { added, items, duplicate, queue } = await direct.describe(filter);
      expect([added, duplicate, queue]).toMatchObject([items, 0, { waiting: 0, leased: 0 }]);
      expect(await lease()).toEqual([]);
    },
  };
}

/** Enough items that most bytes in the cells aren't zero. */
const ITEMS = items(100);

const IMPORTED = items(20, 'imported');

/** Creates, imports, clears and drops a filter with two segments. */
async function lifeCycle(
  verb: 'create' | 'import' | 'clear' | 'drop',
  { proxy }: Lane,
): Promise<Subject<unknown>> {
  const segmentation = { maxSegmentBytes: 4_096, minSegments: 2, minSegmentBytes: 1 };
  const options = { capacity: 100, errorRate: 0.1, segmentation };
  const name = `lane-${proxy.port}-${verb}`;
  const exported = verb === 'import' ? await exportOf(options) : undefined;
  let filter: Filter | undefined;
  let model: CounterModel | undefined;
  return {
    async prepare() {
      if (verb === 'create' || verb === 'import') return;
      filter = await makeFilter(direct, { ...options, name });
      await add(direct, filter, ['old']);
    },
    async run(store, operation) {
      if (verb === 'drop') return store.drop(name, 'filter', operation).then(() => 'dropped');
      if (verb === 'clear') {
        const cleared = await store.clear(name, 'filter', operation);
        return cleared.generation !== filter?.generation;
      }
      if (exported) {
        const { filter: original, parts } = exported;
        const { generation } = await store.transfer.import({ ...original, name }, given(parts), operation);
        return generation !== original.generation;
      }
      return (await store.create(filterSpec({ ...options, name }), operation)).created;
    },
    expected: () => (verb === 'drop' ? 'dropped' : true),
    async verify() {
      if (verb === 'drop') return;
      filter = await direct.open(name, 'filter', { fresh: true });
      model = new CounterModel(filter);
      if (exported) model.add(IMPORTED);
      await expectModel(filter, model);
      expect(await add(direct, filter, ITEMS)).toEqual(model.add(ITEMS));
    },
    async verifyAgain() {
      if (verb === 'drop') {
        const gone = direct.open(name, 'filter', { fresh: true });
        await expect(gone).rejects.toMatchObject({ code: 'FILTER_NOT_FOUND' });
      } else {
        await expectModel(filter!, model!);
        await direct.drop(name, 'filter', made());
      }
    },
  };
}

/** A filter that contains IMPORTED, and its export's parts. */
async function exportOf(options: FilterOptions): Promise<{ filter: Filter; parts: readonly Part[] }> {
  const filter = await makeFilter(direct, options);
  await add(direct, filter, IMPORTED);
  const parts: Part[] = [];
  for await (const part of direct.transfer.export(filter)) parts.push(part);
  return { filter, parts };
}

async function* given(parts: readonly Part[]): AsyncGenerator<Part, void, undefined> {
  yield* parts;
}

type Make = (lane: Lane) => Promise<Subject<unknown>>;

async function measured(verb: string, make: Make, fault: Fault): Promise<Figures> {
  const figures = await everywhere(make, fault);
  const { places, cuts, failed } = figures;
  console.log(`${verb}: ${cuts} of ${places} connections lost, ${failed} calls failed and were repeated`);
  return figures;
}

describe(`the connection to Redis, cut before and within each request and reply (SEED=${SEED})`, () => {
  it.each<readonly [verb: string, cuts: Cuts, make: Make]>([
    ['add', ONE_REQUEST, () => cells('add')],
    ['remove', ONE_REQUEST, () => cells('remove')],
    ['discover', ONE_REQUEST, () => queue('discover')],
    ['lease', ONE_REQUEST, () => queue('lease')],
    ['ack', ONE_REQUEST, () => queue('ack')],
    ['create', DOZENS, (lane) => lifeCycle('create', lane)],
    ['import', DOZENS, (lane) => lifeCycle('import', lane)],
    ['clear', DOZENS, (lane) => lifeCycle('clear', lane)],
    ['drop', DOZENS, (lane) => lifeCycle('drop', lane)],
  ])('%s gives an undisturbed twin’s answer, and takes effect once', async (verb, cuts, make) => {
    const figures = await measured(verb, make, cutAround(cuts));
    expect(figures.places).toBeGreaterThanOrEqual(2 * cuts.rounds * (1 + cuts.within));
    expect(figures.cuts).toBe(figures.places);
  });
});

describe('a command that arrives after its connection was abandoned and its repeat executed', () => {
  it.each<readonly [verb: string, step: number, make: Make]>([
    ['add', 20, () => cells('add')],
    ['remove', 20, () => cells('remove')],
    ['discover', 20, () => queue('discover')],
    ['lease', 20, () => queue('lease')],
    ['ack', 20, () => queue('ack')],
    ['create', 60, (lane) => lifeCycle('create', lane)],
    ['import', 60, (lane) => lifeCycle('import', lane)],
    ['clear', 60, (lane) => lifeCycle('clear', lane)],
    ['drop', 60, (lane) => lifeCycle('drop', lane)],
  ])('of %s (every %i bytes) changes nothing', async (verb, step, make) => {
    const { cuts } = await measured(verb, make, delayEvery(step));
    expect(cuts).toBeGreaterThan(20);
  });
});

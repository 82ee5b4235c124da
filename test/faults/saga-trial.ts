import { expect } from '@jest/globals';
import { Redis } from 'ioredis';
import { StoreError, type Operation } from '#store';
import { RedisStore } from '#store/redis';
import type { CatalogueEntry } from '../../libs/store/src/redis/layout/entry.js';
import { CATALOGUE } from '../../libs/store/src/redis/layout/keys.js';
import { keyed, made } from '../contract/calls.js';
import { MovedClock } from '../support/moved-clock.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { type Call, contentsOf, type Saga, type Scene } from './sagas.js';

const TIMEOUT_MS = 10_000;
/** Work without progress for this long counts as dead. */
const STALE_MS = 31_000;
/** For an instance, a sync is idle if only earlier instances have called it. */
const IDLE_MS = 20_000;
/** Too short for a call that has to repeat a command. */
const SHORT_MS = 15;

/** The outcome of a change and the call after it. */
export interface Outcome {
  readonly answer: unknown;
  readonly state: object;
  /** The contents of each filter. */
  readonly contents: readonly unknown[];
}

/** A scene, and its states before and after a change that died. */
export interface Prepared {
  readonly scene: Scene;
  readonly before: readonly object[];
}

type Run = (store: RedisStore, operation: Operation) => Promise<unknown>;

/**
 * Disturbs a call of an instance behind a proxy at its command number `command`, from 0. Returns the call's answer, or
 * undefined if its process dies.
 */
export type Fault = (
  trial: Trial,
  { store, proxy }: { readonly store: RedisStore; readonly proxy: TcpProxy },
  command: number,
  call: Run,
) => Promise<unknown>;

/** The process dies: the commands before `command` are executed, and no later one is sent. */
export const dies: Fault = async ({ operation }, { store, proxy }, command, call) => {
  const die = (): void => {
    proxy.interrupt();
    void store.close();
  };
  proxy.cutAfter('request', 0, command, die);
  await call(store, operation);
  return undefined;
};

/** Redis refuses every command that needs memory, from `command` until the call ends. */
export const memoryEnds: Fault = async (trial, { store, proxy }, command, call) => {
  let isOver = false;
  proxy.actAfter(command, async () => {
    // Background work after the answer may send the command.
    if (!isOver) await trial.limitMemory('1');
  });
  const answer = await call(store, trial.operation);
  isOver = true;
  await trial.limitMemory('0');
  return answer;
};

/**
 * The connection is cut and returns. By turns, the command is lost, its reply is lost, or the call has no time to
 * repeat it.
 */
export const cutOff: Fault = async ({ operation }, { store, proxy }, command, call) => {
  proxy.cutAfter(command % 3 === 1 ? 'reply' : 'request', 0, command);
  if (command % 3 !== 2) return call(store, operation);
  const answer = await call(store, { ...operation, deadline: Date.now() + SHORT_MS });
  // A call whose time ends between two attempts answers that the filter is busy.
  return answer === 'FILTER_BUSY' ? 'STORE_UNAVAILABLE' : answer;
};

/** A Redis, and instances of the store on it. Each treats the unfinished work of earlier ones as dead. */
export class Trial {
  /** The operation of the change under test. */
  operation = keyed();
  private names = 0;
  /** The number of commands of each change that died. */
  private readonly lengths = new Map<object, number>();

  private constructor(
    private readonly server: RedisServer,
    private readonly redis: Redis,
    /** The first instance. */
    private readonly first: RedisStore,
    private readonly heir: RedisStore,
    /** Like `heir`, but never treats a sync as idle. */
    private readonly patient: RedisStore,
  ) {}

  static async start(): Promise<Trial> {
    const server = await startRedis();
    const [first, heir, patient] = [
      await storeAt(server.url, 0),
      await storeAt(server.url, 2),
      await storeAt(server.url, 2, Infinity),
    ];
    return new Trial(server, new Redis(server.url), first, heir, patient);
  }

  async stop(): Promise<void> {
    for (const store of [this.first, this.heir, this.patient]) await store.close();
    this.redis.disconnect();
    await this.server.stop();
  }

  limitMemory(bytes: string): Promise<unknown> {
    return this.redis.config('SET', 'maxmemory', bytes);
  }

  /** Makes a call on an instance with a fault. */
  async disturbed(fault: Fault, command: number, call: Run, place = 1): Promise<unknown> {
    const proxy = await TcpProxy.start(this.server.port);
    const store = await storeAt(`redis://127.0.0.1:${proxy.port}`, place);
    try {
      // The instance checks once that the catalogue has all of its keys.
      await store.usage(['']);
      return await fault(this, { store, proxy }, command, (...args) => outcomeOf(call(...args)));
    } finally {
      await store.close();
      await proxy.stop();
    }
  }

  /** Makes a call without a fault. Returns its number of commands and its answer. */
  async measure(call: Run, place = 1): Promise<{ commands: number; answer: unknown }> {
    let commands = 0;
    const count: Fault = async ({ operation }, { store, proxy }, _, counted) => {
      const passed = proxy.watchFrames();
      const answer = await counted(store, operation);
      commands = passed().request.length;
      return answer;
    };
    return { answer: await this.disturbed(count, 0, call, place), commands };
  }

  /** Makes the scene of a change. If the saga begins with a dead change, that must have changed something. */
  async prepare(saga: Saga): Promise<Prepared> {
    const { dead } = saga;
    const scene = await this.alive(saga);
    const before = await this.stateOf(scene.name);
    if (!dead) return { scene, before: [before] };
    let commands = this.lengths.get(dead);
    if (commands === undefined) {
      ({ commands } = await this.measure((store) => dead.call(store, scene, made()), 0));
      await this.dropAll();
      this.lengths.set(dead, commands);
      return this.prepare(saga);
    }
    const at = Math.floor(commands * dead.part);
    await this.disturbed(dies, at, (store) => dead.call(store, scene, made()), 0);
    const left = await this.stateOf(scene.name);
    expect(left).not.toEqual(before);
    return { scene, before: [before, left] };
  }

  private async alive(saga: Saga): Promise<Scene> {
    this.operation = keyed();
    const blank: Scene = { name: `s${this.names++}-`, sync: '', parts: [] };
    return { ...blank, ...(await saga.prepare(this.first, blank)) };
  }

  /** Makes the next call, lets syncs end, reads everything, and drops it. */
  async finish(scene: Scene, next: Call, operation: Operation): Promise<Outcome> {
    const answer = await outcomeOf(next(this.heir, scene, operation));
    await this.patient.syncs.tend();
    const state = await this.stateOf(scene.name);
    const names = (await this.entries()).map(({ name }) => name);
    const contents = await Promise.all(names.map((name) => outcomeOf(contentsOf(this.heir, name))));
    await this.dropAll();
    return { answer, state, contents };
  }

  /** Drops all filters, and expects that nothing is left. */
  async dropAll(): Promise<void> {
    for (const { name } of await this.entries()) await outcomeOf(this.heir.drop(name, 'visited-set', made()));
    await this.patient.syncs.tend();
    expect(await this.keys()).toEqual([]);
    for (const key of [CATALOGUE.unfinished, CATALOGUE.syncs]) expect(await this.redis.zcard(key)).toBe(1);
  }

  /** The state of Redis, in a form that does not depend on ids and times. */
  async stateOf(prefix: string): Promise<object> {
    const { redis } = this;
    const entries = await this.entries();
    const owners = new Map(entries.flatMap(({ tags, name }) => tags.map((tag, n) => [tag, `${name}/${n}`])));
    const keys = await this.keys();
    const sizes = await Promise.all(keys.map((key) => this.sizeOf(key)));
    const words = keys.map((key, n) => {
      const [, tag = '', of = ''] = /^unseen:\{(.*)\}:(.*)$/.exec(key) ?? [];
      return `${owners.get(tag) ?? 'astray'}:${of} ${sizes[n]}`.replace(prefix, '');
    });
    return {
      entries: entries.map(fieldsOf),
      keys: withRanks(words).sort(),
      usage: await redis.hget(CATALOGUE.usage, prefix),
      unfinished: await redis.zcard(CATALOGUE.unfinished),
      syncs: await redis.zcard(CATALOGUE.syncs),
    };
  }

  private async entries(): Promise<CatalogueEntry[]> {
    const all = Object.entries(await this.redis.hgetall(CATALOGUE.filters)).filter(([name]) => name !== '');
    return all.map(([, raw]) => JSON.parse(raw) as CatalogueEntry);
  }

  /** The Redis keys of segments. */
  private async keys(): Promise<string[]> {
    return (await this.redis.keys('unseen:{*')).filter((key) => !key.startsWith('unseen:{catalogue}'));
  }

  /** The sizes of records, and of the counts in meta, depend on the number of attempts, so they count as 0. */
  private async sizeOf(key: string): Promise<number> {
    const { redis } = this;
    if (/:(meta|operations:.*)$/.test(key)) return 0;
    const type = await redis.type(key);
    if (type === 'string') return redis.strlen(key);
    if (type === 'hash') return redis.hlen(key);
    return type === 'list' ? redis.llen(key) : redis.zcard(key);
  }
}

/** A store whose clock is ahead of those of earlier instances. */
function storeAt(url: string, place: number, syncIdleMs = IDLE_MS): Promise<RedisStore> {
  const clock = new MovedClock();
  clock.advance(place * STALE_MS);
  return RedisStore.open({ url, timeoutMs: TIMEOUT_MS, clock, syncIdleMs });
}

const outcomeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.catch((error: unknown) => (error instanceof StoreError ? error.code : error));

function fieldsOf({ state, made, growing, undoing, left, retired, operation, sync }: CatalogueEntry): object {
  const { stage, made: madeInSync, growing: growingInSync } = sync ?? {};
  return { state, made, growing, undoing, left, retired, operation, stage, madeInSync, growingInSync };
}

/** Replaces the numbers of layers with their ranks, because an abandoned sync has used up some numbers. */
function withRanks(keys: readonly string[]): string[] {
  const layer = /(?<=:(?:cells|removed|owed|hidden):)\d+/;
  const numbers = new Set(keys.map((key) => Number(layer.exec(key)?.[0] ?? 0)));
  const ranks = [...numbers].sort((a, b) => a - b);
  return keys.map((key) => key.replace(layer, (number) => `#${ranks.indexOf(Number(number))}`));
}

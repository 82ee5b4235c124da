import { randomUUID } from 'node:crypto';
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
/** Shorter than STALE_MS, so an instance treats a sync as idle if only earlier instances have called it. */
const IDLE_MS = 20_000;
/** Too short for a call that has to repeat a command. */
const SHORT_MS = 15;

/** The outcome of a change and of the call after it. */
export interface Outcome {
  readonly answer: unknown;
  readonly state: object;
  /** Each filter's contents. */
  readonly contents: readonly unknown[];
}

/** A command that an instance sends. A script may write if one of the commands that it executes may. */
export interface Command {
  readonly name: string;
  readonly mayWrite: boolean;
}

/** A scene, and its states before and after a change that died. */
export interface Prepared {
  readonly scene: Scene;
  readonly before: readonly object[];
}

/** A prepared scene, and all Redis keys with their contents. */
interface Snapshot extends Prepared {
  readonly dump: readonly Buffer[];
}

const SCRIPTS = new Set(['eval', 'evalsha']);
/** Commands that only read. All others may write. */
const READS = new Set([
  ...['exists', 'get', 'getrange', 'hexists', 'hget', 'hgetall', 'hlen', 'hmget', 'hscan', 'strlen', 'time'],
  ...['type', 'zcard', 'zcount', 'zrange', 'zrangebylex', 'zrangebyscore', 'zscan', 'zscore'],
]);

/** The user of instances that must execute nothing once their trial has ended. */
const MORTAL = 'mortal';

const DUMP = `
local dump = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  dump[#dump + 1] = key
  dump[#dump + 1] = redis.call('DUMP', key)
end
return dump`;

const RESTORE = `
redis.call('FLUSHALL')
for n = 1, #ARGV, 2 do redis.call('RESTORE', ARGV[n], 0, ARGV[n + 1]) end`;

/**
 * The segments' Redis keys, each with its size. How large records, and the counts in meta, are depends on the number of
 * attempts, so they count as 0.
 */
const SIZES = `
local sizes = { string = 'STRLEN', hash = 'HLEN', list = 'LLEN', zset = 'ZCARD' }
local found = {}
for _, key in ipairs(redis.call('KEYS', 'unseen:{*')) do
  if key:find('unseen:{catalogue}', 1, true) ~= 1 then
    local isVague = key:find(':meta$') or key:find(':operations:')
    found[#found + 1] = key
    found[#found + 1] = isVague and 0 or redis.call(sizes[redis.call('TYPE', key).ok], key)
  end
end
return found`;

type Run = (store: RedisStore, operation: Operation) => Promise<unknown>;

/**
 * Disturbs the call that an instance behind a proxy makes, at its command number `command`, from 0. Returns the call's
 * answer, or undefined if the instance's process dies.
 */
export type Fault = (
  trial: Trial,
  { store, proxy }: { readonly store: RedisStore; readonly proxy: TcpProxy },
  command: number,
  call: Run,
) => Promise<unknown>;

/** The process dies, so the commands before `command` are executed, and no later one is sent. */
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
    // The command may also come from background work after the answer.
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
  // If a call's time ends between two attempts, it reports that the filter is busy.
  return answer === 'FILTER_BUSY' ? 'STORE_UNAVAILABLE' : answer;
};

/** A Redis, and store instances on it. Each treats earlier instances' unfinished work as dead. */
export class Trial {
  /** The tested change's operation. */
  operation = keyed();
  private names = 0;
  private readonly snapshots = new Map<Saga, Snapshot>();

  private constructor(
    private readonly server: RedisServer,
    private readonly redis: Redis,
    /** The first instance. */
    private readonly first: RedisStore,
    /** The last instance, which never treats a sync as idle. */
    private readonly patient: RedisStore,
  ) {}

  static async start(): Promise<Trial> {
    const server = await startRedis({ args: ['--user', MORTAL, 'on', `>${MORTAL}`, '~*', '&*', '+@all'] });
    const [first, patient] = [await storeAt(server.url, 0), await storeAt(server.url, 2, Infinity)];
    return new Trial(server, new Redis(server.url), first, patient);
  }

  async stop(): Promise<void> {
    for (const store of [this.first, this.patient]) await store.close();
    this.redis.disconnect();
    await this.server.stop();
  }

  limitMemory(bytes: string): Promise<unknown> {
    return this.redis.config('SET', 'maxmemory', bytes);
  }

  /** Makes a call on an instance with a fault. */
  async disturbed(fault: Fault, command: number, call: Run, place = 1): Promise<unknown> {
    const proxy = await TcpProxy.start(this.server.port);
    const store = await storeAt(mortalAt(proxy.port), place);
    try {
      // The instance checks once that the catalogue has all of its keys.
      await store.usage(['']);
      return await fault(this, { store, proxy }, command, (...args) => outcomeOf(call(...args)));
    } finally {
      await store.close();
      await proxy.stop();
    }
  }

  /** Makes a call without a fault. Returns its commands and its answer. */
  async measure(call: Run, place = 1): Promise<{ commands: readonly Command[]; answer: unknown }> {
    const commands: Command[] = [];
    const count: Fault = async ({ operation }, { store }, _, counted) => {
      const executed = await this.monitor();
      const answer = await counted(store, operation);
      commands.push(...(await executed()));
      return answer;
    };
    return { answer: await this.disturbed(count, 0, call, place), commands };
  }

  /** Watches the commands of the instance behind the proxy. The returned function ends the watch and returns them. */
  private async monitor(): Promise<() => Promise<Command[]>> {
    const clients = String(await this.redis.client('LIST'));
    // The newest connection is last. Redis may not have noticed yet that earlier ones have closed.
    const address = [...clients.matchAll(new RegExp(`addr=(\\S+) .*user=${MORTAL} `, 'g'))].at(-1)?.[1];
    const monitor = await this.redis.monitor();
    const commands: { name: string; mayWrite: boolean }[] = [];
    const end = randomUUID();
    const ended = new Promise<void>((resolve) => {
      let isItsScript = false;
      monitor.on('monitor', (_time: string, [word = '', value]: string[], source: string) => {
        const name = word.toLowerCase();
        const mayWrite = !READS.has(name);
        if (source !== 'lua') isItsScript = source === address && SCRIPTS.has(name);
        // A script's commands follow it.
        if (source === address) commands.push({ name, mayWrite: mayWrite && !isItsScript });
        else if (source === 'lua' && isItsScript && mayWrite) commands.at(-1)!.mayWrite = true;
        else if (value === end) resolve();
      });
    });
    return async () => {
      await this.redis.echo(end);
      await ended;
      monitor.disconnect();
      expect(commands).not.toEqual([]);
      return commands;
    };
  }

  /** Makes the scene for a change, and restores it for later trials. */
  async prepare(saga: Saga): Promise<Prepared> {
    this.operation = keyed();
    const snapshot = this.snapshots.get(saga);
    if (snapshot) {
      await this.restore(snapshot.dump);
      return snapshot;
    }
    const prepared = await this.make(saga);
    this.snapshots.set(saga, { ...prepared, dump: await this.dump() });
    return prepared;
  }

  /** All Redis keys with their contents, for `restore`. */
  async dump(): Promise<readonly Buffer[]> {
    return (await this.redis.callBuffer('eval', DUMP, 0)) as Buffer[];
  }

  async restore(dump: readonly Buffer[]): Promise<void> {
    await this.redis.client('KILL', 'USER', MORTAL);
    await this.redis.eval(RESTORE, 0, ...dump);
  }

  /** If the saga begins with a dead change, that must have changed something. */
  private async make(saga: Saga): Promise<Prepared> {
    const { dead } = saga;
    let commands: readonly Command[] = [];
    if (dead) {
      const whole = await this.alive(saga);
      ({ commands } = await this.measure((store) => dead.call(store, whole, made()), 0));
      await this.dropAll();
    }
    const scene = await this.alive(saga);
    const before = await this.stateOf(scene.name);
    if (!dead) return { scene, before: [before] };
    const at = Math.floor(commands.length * dead.part);
    await this.disturbed(dies, at, (store) => dead.call(store, scene, made()), 0);
    const left = await this.stateOf(scene.name);
    expect(left).not.toEqual(before);
    return { scene, before: [before, left] };
  }

  private async alive(saga: Saga): Promise<Scene> {
    const blank: Scene = { name: `s${this.names++}-`, sync: '', parts: [] };
    return { ...blank, ...(await saga.prepare(this.first, blank)) };
  }

  /** Makes the next call on a new instance, lets syncs end, and reads everything. */
  async finish(scene: Scene, next: Call, operation: Operation): Promise<Outcome> {
    const heir = await storeAt(mortalAt(this.server.port), 2);
    try {
      const answer = await outcomeOf(next(heir, scene, operation));
      await this.patient.syncs.tend();
      const state = await this.stateOf(scene.name);
      const names = (await this.entries()).map(({ name }) => name);
      const contents = await Promise.all(names.map((name) => outcomeOf(contentsOf(heir, name))));
      return { answer, state, contents };
    } finally {
      await heir.close();
    }
  }

  /** Drops all filters, and expects that nothing is left. */
  async dropAll(): Promise<void> {
    for (const { name } of await this.entries()) {
      await outcomeOf(this.patient.drop(name, 'visited-set', made()));
    }
    await this.patient.syncs.tend();
    expect(await this.sizes()).toEqual([]);
    for (const key of [CATALOGUE.unfinished, CATALOGUE.syncs]) expect(await this.redis.zcard(key)).toBe(1);
  }

  /** The state of Redis, in a form that doesn't depend on ids and times. */
  async stateOf(prefix: string): Promise<object> {
    const { redis } = this;
    const entries = await this.entries();
    const owners = new Map(entries.flatMap(({ tags, name }) => tags.map((tag, n) => [tag, `${name}/${n}`])));
    const words = (await this.sizes()).map(([key, size]) => {
      const [, tag = '', of = ''] = /^unseen:\{(.*)\}:(.*)$/.exec(key) ?? [];
      return `${owners.get(tag) ?? 'astray'}:${of} ${size}`.replace(prefix, '');
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

  private async sizes(): Promise<[key: string, size: number][]> {
    const found = (await this.redis.eval(SIZES, 0)) as (string | number)[];
    return Array.from({ length: found.length / 2 }, (_, n) => [
      String(found[2 * n]),
      Number(found[2 * n + 1]),
    ]);
  }
}

const mortalAt = (port: number): string => `redis://${MORTAL}:${MORTAL}@127.0.0.1:${port}`;

/** A store whose clock is ahead of earlier instances' clocks. */
function storeAt(url: string, place: number, syncIdleMs = IDLE_MS): Promise<RedisStore> {
  const clock = new MovedClock();
  clock.advance(place * STALE_MS);
  return RedisStore.open({ url, timeoutMs: TIMEOUT_MS, clock, syncIdleMs });
}

const outcomeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.catch((error: unknown) => (error instanceof StoreError ? error.code : error));

function fieldsOf(entry: CatalogueEntry): object {
  const { state, made, growing, undoing, left, retired, retiredLayers, operation, sync } = entry;
  const { stage, made: madeInSync, growing: growingInSync } = sync ?? {};
  const ofSyncs = { stage, madeInSync, growingInSync };
  const segments = entry.tags.length;
  return { state, made, growing, undoing, left, retired, retiredLayers, operation, segments, ...ofSyncs };
}

/** Replaces the numbers of layers with their ranks, because an abandoned sync has used up some numbers. */
function withRanks(keys: readonly string[]): string[] {
  const layer = /(?<=:(?:cells|removed|owed|hidden):)\d+/;
  const numbers = new Set(keys.map((key) => Number(layer.exec(key)?.[0] ?? 0)));
  const ranks = [...numbers].sort((a, b) => a - b);
  return keys.map((key) => key.replace(layer, (number) => `#${ranks.indexOf(Number(number))}`));
}

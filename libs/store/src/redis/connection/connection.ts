import { createHash } from 'node:crypto';
import { Cluster, type Redis } from 'ioredis';
import { type Clock, deadlineIn, msUntil, SYSTEM_CLOCK } from '../../clock.js';
import { joinAll } from '../../join-all.js';
import { connect, type ConnectionOptions } from './connect.js';
import { away, faultOf, finalError, inOurWords, originOf, withoutCommand } from './faults.js';
import { ReplicatedWrites, type Write } from './replicated-writes.js';
import { within } from '../../within.js';
import { aheadBy, type Script } from '../scripts/script.js';

export type { ConnectionOptions } from './connect.js';

type Value = string | number | Buffer;

/** Arguments of a call. They may depend on the number of the attempt, from 1. */
type Args = readonly Value[] | ((attempt: number) => readonly Value[]);

/** Commands that change one key and may be repeated. */
export type WriteCommand = 'hdel' | 'hset' | 'setrange' | 'unlink' | 'zadd' | 'zrem';

const FIRST_TRY_ENDS = ['ready', 'error', 'close', 'end'];
/** Pause before a client that has given up connects again, in ms. */
const REVIVE_MS = 100;
const REDIRECTED = /^(MOVED|ASK|NOSCRIPT)\b/;

/**
 * The connection to a Redis server or cluster. We retry, not the client: it neither queues commands while disconnected
 * nor sends them again, since it cannot know which are safe to repeat. Every script of this store is safe to repeat,
 * because of its operation record.
 *
 * Changes go through `mutate` and `write`, which answer once the required number of replicas has the change.
 */
export class Connection {
  readonly client: Redis | Cluster;
  /** For writes that wait for replicas. Undefined if none do. */
  private readonly writer: Redis | Cluster | undefined;
  private readonly writes: ReplicatedWrites | undefined;
  private readonly digests = new Map<string, string>();
  /** Hears messages; made when the first channel is subscribed to. */
  private subscriber: Redis | Cluster | undefined;
  private readonly channels = new Set<string>();
  private heard: (channel: string) => void = () => undefined;
  private closing = false;
  private lastError: unknown;

  constructor(private readonly options: ConnectionOptions) {
    const { timeoutMs, waitReplicas = 0 } = options;
    this.client = this.watch(connect(options, timeoutMs));
    if (waitReplicas === 0) return;
    // WAIT may take as long as the call itself, so a silent connection is kept longer.
    this.writer = this.watch(connect(options, 2 * timeoutMs));
    this.writes = new ReplicatedWrites(this.writer, waitReplicas);
  }

  /** Resolves when the first attempt to connect has succeeded, failed or taken too long. */
  async firstTry(): Promise<void> {
    await joinAll(this.clients.map((client) => firstTryOf(client, this.options.timeoutMs)));
  }

  /** Masters known now; 1 for a single server. */
  get masters(): number {
    return this.client instanceof Cluster ? Math.max(1, this.client.nodes('master').length) : 1;
  }

  get clock(): Clock {
    return this.options.clock ?? SYSTEM_CLOCK;
  }

  /** Added to the time of the servers. */
  get aheadMs(): number {
    return this.clock.shift?.aheadMs ?? 0;
  }

  /** The time of this process, in ms since the epoch. */
  now(): number {
    return this.clock.now();
  }

  get connected(): boolean {
    return this.clients.every(({ status }) => status === 'ready');
  }

  /** Why there is no connection. It names no host and no secret. */
  get fault(): string {
    return faultOf(this.lastError, this.options.tls !== undefined);
  }

  /**
   * Runs a script that changes nothing. Repeats it while that can help, until `deadline`. Strings are answered as
   * Buffers if `binary` is set. Throws as `repeat`.
   */
  run(script: Script, keys: string[], args: Args, deadline: number, binary = false): Promise<unknown> {
    const timed = this.timed(script);
    return this.repeat(
      (attempt) => this.runOn(this.client, timed, keys, valuesOf(args, attempt), binary),
      deadline,
    );
  }

  /**
   * As `run`, for a script that changes something. A repeat, too, is answered only when the replicas have the change.
   */
  mutate(script: Script, keys: string[], args: Args, deadline: number, binary = false): Promise<unknown> {
    const { writer } = this;
    if (!writer) return this.run(script, keys, args, deadline, binary);
    const timed = this.timed(script);
    return this.repeat((attempt, end) => {
      const values = valuesOf(args, attempt);
      const evalsha = [this.digest(timed), keys.length, ...keys, ...values];
      const write = { key: keys[0] as string, command: 'evalsha', args: evalsha, binary, end };
      return this.replicated(write, () => this.runOn(writer, timed, keys, values, binary));
    }, deadline);
  }

  /** Runs a command that changes one key. Throws as `repeat`. */
  write(command: WriteCommand, key: string, args: readonly Value[], deadline: number): Promise<unknown> {
    const { writer } = this;
    if (!writer) return this.repeat(() => this.client.call(command, key, ...args), deadline);
    return this.repeat((_, end) => {
      const write = { key, command, args: [key, ...args], binary: false, end };
      return this.replicated(write, () => writer.call(command, key, ...args));
    }, deadline);
  }

  /**
   * Repeats a call that is safe to repeat until it succeeds, fails for good, or the time is up. Throws StoreError:
   * STORE_UNAVAILABLE, STORE_FULL, STORE_DATA_LOST.
   */
  async repeat<T>(call: (attempt: number, end: number) => Promise<T>, deadline: number): Promise<T> {
    const end = Math.min(deadline, deadlineIn(this.options.timeoutMs));
    for (let wait = 10, attempt = 1; ; wait = Math.min(wait * 2, 200), attempt++) {
      try {
        return await within(msUntil(end), call(attempt, end), noAnswer);
      } catch (error) {
        const final = finalError(withoutCommand(error), this.client instanceof Cluster);
        if (final) throw final;
        if (this.closing || msUntil(end) <= wait) {
          throw this.connected ? away('Redis does not answer', error) : away(this.fault, this.disconnection);
        }
        // The node that failed may have been replaced, and nothing else would tell the client.
        for (const client of this.clients) if (client instanceof Cluster) client.refreshSlotsCache();
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /** Who is told of messages. */
  onMessage(heard: (channel: string) => void): void {
    this.heard = heard;
  }

  /** Hears messages of a channel from some time on, while there is a connection; they may be lost. */
  subscribe(channel: string): void {
    this.channels.add(channel);
    if (this.closing) return;
    const { subscriber } = this;
    if (subscriber?.status === 'ready') void subscriber.subscribe(channel).catch(() => undefined);
    else if (!subscriber) this.openSubscriber();
  }

  unsubscribe(channel: string): void {
    this.channels.delete(channel);
    void this.subscriber?.unsubscribe(channel).catch(() => undefined);
  }

  async close(): Promise<void> {
    if (this.closing) return;
    this.closing = true;
    for (const client of this.clients) client.disconnect();
    this.subscriber?.disconnect();
  }

  /** Not watched: without it nothing is wrong, only later. */
  private openSubscriber(): void {
    const subscriber = this.revived(connect(this.options, this.options.timeoutMs));
    this.subscriber = subscriber;
    subscriber.on('error', () => undefined);
    subscriber.on('message', (channel: string) => this.heard(channel));
    subscriber.on('ready', () => {
      if (this.channels.size > 0) void subscriber.subscribe(...this.channels).catch(() => undefined);
    });
  }

  private get disconnection(): Error {
    return new Error('there is no connection', { cause: inOurWords(originOf(this.lastError)) });
  }

  private get clients(): (Redis | Cluster)[] {
    return this.writer ? [this.client, this.writer] : [this.client];
  }

  private watch(client: Redis | Cluster): Redis | Cluster {
    // Without a listener a lost connection would end the process. Readiness and calls report it.
    client.on('error', (error: unknown) => (this.lastError = withoutCommand(error)));
    client.on('ready', () => (this.lastError = undefined));
    return this.revived(client);
  }

  /**
   * A client ends for good, whatever its retry strategy, if a Sentinel tells of a failover while it asks for the master
   * (ioredis: `FailoverDetector` disconnects the connector that is connecting).
   */
  private revived(client: Redis | Cluster): Redis | Cluster {
    const revive = (): void => {
      // If this fails, the client ends again and emits the event again.
      if (!this.closing && client.status === 'end') client.connect().catch(() => undefined);
    };
    client.on('end', () => {
      if (!this.closing) setTimeout(revive, REVIVE_MS).unref();
    });
    return client;
  }

  /**
   * The client follows redirections and loads scripts, but not inside a pipeline. So it first does that without WAIT.
   * Then the same write is sent again to the right node, where it changes nothing more but waits for the replicas.
   */
  private async replicated(write: Write, followed: () => Promise<unknown>): Promise<unknown> {
    const { writes } = this;
    if (!writes) throw new TypeError('writes are not replicated here');
    try {
      return await writes.send(write);
    } catch (error) {
      if (!(error instanceof Error) || !REDIRECTED.test(error.message)) throw error;
      await followed();
      return writes.sendAsRedirected(write, error.message);
    }
  }

  private async runOn(
    client: Redis | Cluster,
    script: Script,
    keys: readonly string[],
    values: readonly Value[],
    binary: boolean,
  ): Promise<unknown> {
    define(client, script);
    const named = isFixed(script) ? keys : [keys.length, ...keys];
    const name = binary ? `${script.name}Buffer` : script.name;
    const method: unknown = Reflect.get(client, name);
    if (typeof method !== 'function') throw new TypeError(`script ${name} is not defined`);
    return (await Reflect.apply(method, client, [...named, ...values])) as unknown;
  }

  private digest({ name, lua }: Script): string {
    let digest = this.digests.get(name);
    if (digest === undefined) {
      digest = createHash('sha1').update(lua).digest('hex');
      this.digests.set(name, digest);
    }
    return digest;
  }

  /** The script, with `aheadMs` added to its time. */
  private timed(script: Script): Script {
    const ahead = this.aheadMs;
    if (ahead === 0) return script;
    return { ...script, name: `${script.name}+${ahead}`, lua: aheadBy(ahead, script.lua) };
  }
}

/** The error of a call that timed out. Its commands may still be executed. */
function noAnswer(): Error {
  return new Error('no answer in time');
}

function define(client: Redis | Cluster, script: Script): void {
  const { name, numberOfKeys, lua } = script;
  if (Reflect.has(client, name)) return;
  client.defineCommand(name, isFixed(script) ? { numberOfKeys, lua } : { lua });
}

/** Whether the client knows how many keys the script has. To it 0 means that each call says so. */
function isFixed({ numberOfKeys, moreKeys }: Script): boolean {
  return numberOfKeys > 0 && !moreKeys;
}

function valuesOf(args: Args, attempt: number): readonly Value[] {
  return typeof args === 'function' ? args(attempt) : args;
}

function firstTryOf(client: Redis | Cluster, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      for (const event of FIRST_TRY_ENDS) client.off(event, done);
      resolve();
    };
    const timer = setTimeout(done, timeoutMs);
    for (const event of FIRST_TRY_ENDS) client.on(event, done);
  });
}

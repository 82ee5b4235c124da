import { createHash } from 'node:crypto';
import { Cluster, type Redis } from 'ioredis';
import { type Clock, deadlineIn, msUntil, SYSTEM_CLOCK } from '../../clock.js';
import { joinAll } from '../../join-all.js';
import { connect, type ConnectionOptions } from './connect.js';
import { away, faultOf, finalError, inOurWords, originOf, withoutCommand } from './faults.js';
import { ReplicatedWrites, type Write } from './replicated-writes.js';
import { within } from '../../within.js';
import { NO_OBSERVER, type StoreObserver } from '../../port/index.js';
import { NOW, shifted, type Script, verbOf } from '../scripts/script.js';

export type { ConnectionOptions } from './connect.js';

type Value = string | number | Buffer;

/** A call's arguments, or a function that returns them for each attempt, numbered from 1. */
type Args = readonly Value[] | ((attempt: number) => readonly Value[]);

/** Commands that change one key and are safe to repeat. */
export type WriteCommand = 'hdel' | 'hset' | 'setrange' | 'unlink' | 'zadd' | 'zrem';

const FIRST_TRY_ENDS = ['ready', 'error', 'close', 'end'];
/** Pause in ms before a client that has given up connects again. */
const REVIVE_MS = 100;
const REDIRECTED = /^(MOVED|ASK|NOSCRIPT)\b/;

/**
 * The connection to a Redis server or cluster. The store retries commands itself, because the client can't know which
 * are safe to repeat. (All scripts of this store are, because they record their operations.) So the client neither
 * queues commands while disconnected nor resends them.
 *
 * Changes go through `mutate` and `write`, which resolve once enough replicas have the change.
 */
export class Connection {
  readonly client: Redis | Cluster;
  /** For writes that wait for replicas. Undefined if writes don't wait. */
  private readonly writer: Redis | Cluster | undefined;
  private readonly writes: ReplicatedWrites | undefined;
  private readonly digests = new Map<string, string>();
  /** Receives messages. Created with the first subscription. */
  private subscriber: Redis | Cluster | undefined;
  private readonly channels = new Set<string>();
  private heard: (channel: string) => void = () => undefined;
  private closing = false;
  private lastError: unknown;

  constructor(private readonly options: ConnectionOptions) {
    const { timeoutMs, waitReplicas = 0 } = options;
    this.client = this.watch(connect(options, timeoutMs));
    if (waitReplicas === 0) return;
    // WAIT may take as long as the call itself, so this connection may be silent for longer.
    this.writer = this.watch(connect(options, 2 * timeoutMs));
    this.writes = new ReplicatedWrites(this.writer, waitReplicas);
  }

  /** Resolves when the first attempt to connect has succeeded, failed or timed out. */
  async firstTry(): Promise<void> {
    await joinAll(this.clients.map((client) => firstTryOf(client, this.options.timeoutMs)));
  }

  /** Number of known masters; 1 for a single server. */
  get masters(): number {
    return this.client instanceof Cluster ? Math.max(1, this.client.nodes('master').length) : 1;
  }

  get clock(): Clock {
    return this.options.clock ?? SYSTEM_CLOCK;
  }

  get observer(): StoreObserver {
    return this.options.observer ?? NO_OBSERVER;
  }

  /** Offset to add to the time of the servers. */
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

  /** Why there is no connection. Contains no host name and no secret. */
  get fault(): string {
    return faultOf(this.lastError, this.options.tls !== undefined);
  }

  /**
   * Runs a read-only script, and retries it until `deadline` as long as that can help. With `binary`, returns strings
   * as Buffers. Throws the same errors as `repeat`.
   */
  run(script: Script, keys: string[], args: Args, deadline: number, binary = false): Promise<unknown> {
    const { timed, values } = this.timed(script, args);
    return this.repeat(
      (attempt) => this.observed(script, this.runOn(this.client, timed, keys, values(attempt), binary)),
      deadline,
    );
  }

  /** Like `run`, for a script that changes data. Even a repeat resolves only once the replicas have the change. */
  mutate(script: Script, keys: string[], args: Args, deadline: number, binary = false): Promise<unknown> {
    const { writer } = this;
    if (!writer) return this.run(script, keys, args, deadline, binary);
    const { timed, values } = this.timed(script, args);
    return this.repeat((attempt, end) => {
      const sent = values(attempt);
      const evalsha = [this.digest(timed), keys.length, ...keys, ...sent];
      const write = { key: keys[0] as string, command: 'evalsha', args: evalsha, binary, end };
      const reply = this.replicated(write, () => this.runOn(writer, timed, keys, sent, binary));
      return this.observed(script, reply);
    }, deadline);
  }

  /** Runs a command that changes one key. Throws the same errors as `repeat`. */
  write(command: WriteCommand, key: string, args: readonly Value[], deadline: number): Promise<unknown> {
    const { writer } = this;
    if (!writer) return this.repeat(() => this.client.call(command, key, ...args), deadline);
    return this.repeat((_, end) => {
      const write = { key, command, args: [key, ...args], binary: false, end };
      return this.replicated(write, () => writer.call(command, key, ...args));
    }, deadline);
  }

  /**
   * Retries a call that is safe to repeat until it succeeds, fails permanently, or times out. Throws StoreError:
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
        // The failed node may have been replaced, and the client doesn't notice by itself.
        for (const client of this.clients) if (client instanceof Cluster) client.refreshSlotsCache();
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /** Sets the listener for messages. */
  onMessage(heard: (channel: string) => void): void {
    this.heard = heard;
  }

  /** Starts to receive a channel's messages. While disconnected, they are lost. */
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

  /** Ignores this client's errors: without its messages, callers only notice new entries later. */
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
    // Without a listener, a lost connection would crash the process. Readiness and calls report the error.
    client.on('error', (error: unknown) => (this.lastError = withoutCommand(error)));
    client.on('ready', () => (this.lastError = undefined));
    return this.revived(client);
  }

  /**
   * Makes a client reconnect after it has ended. If a Sentinel reports a failover while the client asks for the master,
   * the client gives up for good, whatever its retry strategy (ioredis: `FailoverDetector` disconnects the connector
   * that is connecting).
   */
  private revived(client: Redis | Cluster): Redis | Cluster {
    const revive = (): void => {
      // If this fails, the client emits `end` again.
      if (!this.closing && client.status === 'end') client.connect().catch(() => undefined);
    };
    client.on('end', () => {
      if (!this.closing) setTimeout(revive, REVIVE_MS).unref();
    });
    return client;
  }

  /**
   * The client follows redirections and loads scripts, but not inside a pipeline. So this first sends the write through
   * the client, without WAIT, and then again to the right node. The second time, the write changes nothing but waits
   * for the replicas.
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

  /** Reports how long a script's reply takes. If none comes, reports nothing. */
  private async observed(script: Script, reply: Promise<unknown>): Promise<unknown> {
    const begin = SYSTEM_CLOCK.monotonic();
    const value = await reply;
    this.observer.ranScript(verbOf(script), SYSTEM_CLOCK.monotonic() - begin);
    return value;
  }

  private digest({ name, lua }: Script): string {
    let digest = this.digests.get(name);
    if (digest === undefined) {
      digest = createHash('sha1').update(lua).digest('hex');
      this.digests.set(name, digest);
    }
    return digest;
  }

  /** The script with `aheadMs` added to its time, and its values for an attempt. */
  private timed(
    script: Script,
    args: Args,
  ): { timed: Script; values: (attempt: number) => readonly Value[] } {
    const { aheadMs } = this;
    if (aheadMs === 0 || !script.lua.includes(NOW)) {
      return { timed: script, values: (attempt) => valuesOf(args, attempt) };
    }
    return { timed: shifted(script), values: (attempt) => [...valuesOf(args, attempt), aheadMs] };
  }
}

/** The error for a call that timed out. Its commands may still run. */
function noAnswer(): Error {
  return new Error('no answer in time');
}

function define(client: Redis | Cluster, script: Script): void {
  const { name, numberOfKeys, lua } = script;
  if (Reflect.has(client, name)) return;
  client.defineCommand(name, isFixed(script) ? { numberOfKeys, lua } : { lua });
}

/** True if the client knows the script's number of keys. If it is 0, ioredis expects it in each call. */
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

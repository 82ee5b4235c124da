import { Cluster, Redis } from 'ioredis';
import { StoreError } from '../errors.js';
import type { Script } from './scripts/script.js';

export interface ConnectionOptions {
  /** redis:// or rediss:// URL of a single server. */
  readonly url?: string;
  /** host:port of some nodes of a cluster, instead of a URL. */
  readonly clusterNodes?: readonly string[];
  /** How long one store call may take, and how long a silent connection is kept. */
  readonly timeoutMs: number;
}

type Value = string | number | Buffer;

/** Server errors after which the same call may succeed: nothing was done. */
const PASSING = /^(LOADING|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|READONLY|BUSY|NOREPLICAS)\b/;

const REFUSED = /\b(NOAUTH|WRONGPASS|NOPERM)\b/;

const FIRST_TRY_ENDS = ['ready', 'error', 'close', 'end'];

/**
 * Connection to a Redis server or cluster. Retries are ours, not the client's: it neither queues commands
 * while disconnected nor sends them again, since it cannot know which are safe to repeat. Every script of this
 * store is, by its operation record.
 */
export class Connection {
  readonly client: Redis | Cluster;
  private readonly defined = new Set<string>();
  private closing = false;
  private lastError: unknown;

  constructor(private readonly options: ConnectionOptions) {
    this.client = connect(options);
    // Without a listener a lost connection would end the process; readiness and calls report it.
    this.client.on('error', (error: unknown) => (this.lastError = error));
    this.client.on('ready', () => (this.lastError = undefined));
  }

  /** Resolves when the first try to connect has succeeded or failed, or has taken too long. */
  firstTry(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        for (const event of FIRST_TRY_ENDS) this.client.off(event, done);
        resolve();
      };
      const timer = setTimeout(done, this.options.timeoutMs);
      for (const event of FIRST_TRY_ENDS) this.client.on(event, done);
    });
  }

  /** Masters known now: 1 for a single server. */
  get masters(): number {
    return this.client instanceof Cluster ? Math.max(1, this.client.nodes('master').length) : 1;
  }

  get connected(): boolean {
    return this.client.status === 'ready';
  }

  /** Why there is no connection, naming no host and no secret. */
  get fault(): string {
    const message = this.lastError instanceof Error ? this.lastError.message : '';
    return REFUSED.test(message) ? 'Redis refuses the credentials' : 'Redis cannot be reached';
  }

  /**
   * Runs a script; answers strings as Buffers if `binary`. Repeats it while that can help, until `deadline`; `args` may
   * depend on the number of the attempt, from 1.
   */
  async run(
    script: Script,
    keys: string[],
    args: Value[] | ((attempt: number) => Value[]),
    deadline: number,
    binary = false,
  ): Promise<unknown> {
    this.define(script);
    const name = binary ? `${script.name}Buffer` : script.name;
    const named = script.numberOfKeys === 0 ? [keys.length, ...keys] : keys;
    return this.repeat(async (attempt) => {
      const values = [...named, ...(typeof args === 'function' ? args(attempt) : args)];
      const method: unknown = Reflect.get(this.client, name);
      if (typeof method !== 'function') throw new TypeError(`script ${name} is not defined`);
      return (await Reflect.apply(method, this.client, values)) as unknown;
    }, deadline);
  }

  /**
   * Repeats a call whose repetition is harmless until it succeeds, fails for good, or the time is up.
   * Throws StoreError: STORE_UNAVAILABLE, STORE_FULL, STORE_DATA_LOST.
   */
  async repeat<T>(call: (attempt: number) => Promise<T>, deadline: number): Promise<T> {
    const end = Math.min(deadline, Date.now() + this.options.timeoutMs);
    for (let wait = 10, attempt = 1; ; wait = Math.min(wait * 2, 200), attempt++) {
      try {
        if (!this.connected) throw new Error('there is no connection', { cause: this.lastError });
        return await call(attempt);
      } catch (error) {
        const final = this.classify(error);
        if (final) throw final;
        if (this.closing || Date.now() + wait >= end) {
          throw new StoreError('STORE_UNAVAILABLE', 'Redis does not answer', { cause: error });
        }
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /** The error to give up with, or undefined if trying again can help. */
  private classify(error: unknown): Error | undefined {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof Error && error.name === 'ReplyError') {
      if (/^OOM\b/.test(message)) return new StoreError('STORE_FULL', 'Redis is out of memory (maxmemory)');
      if (/^(WRONGTYPE|UNSEEN)\b/.test(message)) {
        return new StoreError('STORE_DATA_LOST', 'a key of the filter was changed by another program');
      }
      if (PASSING.test(message)) return undefined;
      if (/^MOVED\b/.test(message)) {
        return new StoreError('STORE_UNAVAILABLE', 'Redis is a node of a cluster: name the cluster instead', {
          cause: error,
        });
      }
      if (REFUSED.test(message) || /^MISCONF\b/.test(message)) {
        return new StoreError('STORE_UNAVAILABLE', `Redis refuses: ${message.split(' ', 1)[0]}`, {
          cause: error,
        });
      }
      return error;
    }
    // A defect of ours, not a fault of the connection.
    return error instanceof TypeError || error instanceof RangeError ? error : undefined;
  }

  private define(script: Script): void {
    if (this.defined.has(script.name)) return;
    const { numberOfKeys, lua } = script;
    this.client.defineCommand(script.name, numberOfKeys === 0 ? { lua } : { numberOfKeys, lua });
    this.defined.add(script.name);
  }

  async close(): Promise<void> {
    if (this.closing) return;
    this.closing = true;
    this.client.disconnect();
  }
}

function connect(options: ConnectionOptions): Redis | Cluster {
  const { url, clusterNodes, timeoutMs } = options;
  const retryStrategy = (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 5), 1000);
  const shared = {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    // Commands of a lost connection fail at once (null would leave them waiting for ever).
    maxRetriesPerRequest: 0,
    connectTimeout: timeoutMs,
    // A connection on which an answer is overdue is closed: its commands must not run later unseen.
    socketTimeout: timeoutMs,
    keepAlive: 10_000,
  };
  if (clusterNodes && clusterNodes.length > 0) {
    return new Cluster([...clusterNodes], {
      enableOfflineQueue: false,
      clusterRetryStrategy: retryStrategy,
      slotsRefreshTimeout: timeoutMs,
      scaleReads: 'master',
      redisOptions: shared,
    });
  }
  return new Redis(url ?? 'redis://127.0.0.1:6379', { ...shared, retryStrategy });
}

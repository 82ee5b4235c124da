import { isUtf8 } from 'node:buffer';
import { Redis } from 'ioredis';
import { showBytes } from '../../errors/show-bytes.js';
import { show } from '../../errors/show.js';
import { Ending, Exit, reasonOf, Unreachable, UsageError } from '../ending.js';
import { MAX_LINE_BYTES } from './lines.js';
import type { Run, Source } from './runs.js';

const CONNECT_MS = 10_000;
/** How many members Redis scans in one step. Between steps, it serves other clients. */
const STEP = 1_000;
const ATTEMPTS = 5;
const LONGEST_WAIT_MS = 2_000;

/**
 * The members of a Redis SET. Reads it in small, repeatable steps while other clients may write to it. A member that
 * stays in the SET throughout is read at least once.
 */
export class RedisSet implements Source {
  readonly meter: { read: number; total: number };

  private constructor(
    private readonly redis: Redis,
    private readonly asked: Asked,
    private readonly key: string,
    /** Number of members when the SET was opened. */
    readonly size: number,
    private readonly signal: AbortSignal,
  ) {
    this.meter = { read: 0, total: size };
  }

  /** Throws UsageError if the Redis key is missing or not a SET, and Unreachable if Redis doesn't answer. */
  static async open(url: string, key: string, signal: AbortSignal): Promise<RedisSet> {
    const { redis, asked } = connect(url);
    try {
      const type = await asked(() => redis.type(key));
      if (type === 'none')
        throw new UsageError(`Redis has no key ${show(key)}; check --key and the database in --redis`);
      if (type !== 'set') throw new UsageError(`the Redis key ${show(key)} is a ${type}, not a set`);
      return new RedisSet(redis, asked, key, await asked(() => redis.scard(key)), signal);
    } catch (error) {
      redis.disconnect();
      throw error;
    }
  }

  async *runs(): AsyncGenerator<Run, void, undefined> {
    let cursor = '0';
    do {
      const [next, members] = await this.asked(() => this.redis.sscanBuffer(this.key, cursor, 'COUNT', STEP));
      this.signal.throwIfAborted();
      cursor = next.toString();
      yield* runsOf(members);
      this.meter.read += members.length;
    } while (cursor !== '0');
  }

  /** The current number of members. */
  async sizeNow(): Promise<number> {
    return this.asked(() => this.redis.scard(this.key));
  }

  close(): void {
    this.redis.disconnect();
  }
}

/** Makes a call. Throws an Ending that says why it failed. */
type Asked = <T>(call: () => Promise<T>) => Promise<T>;

function connect(url: string): { redis: Redis; asked: Asked } {
  if (!/^rediss?:\/\/[^/?#]/.test(url))
    throw new UsageError('--redis must be a URL such as redis://127.0.0.1:6379/0');
  const redis = new Redis(url, {
    connectTimeout: CONNECT_MS,
    maxRetriesPerRequest: ATTEMPTS,
    retryStrategy: (attempt) => Math.min(100 * 2 ** attempt, LONGEST_WAIT_MS),
    // Sending client info needs a permission that Redis 7.0 doesn't have.
    disableClientInfo: true,
  });
  // The error of a call that has run out of attempts does not say why they failed.
  let broken: Error | undefined;
  redis.on('error', (error: Error) => (broken = error)).on('ready', () => (broken = undefined));
  const asked: Asked = (call) => call().catch((error: unknown) => Promise.reject(endingOf(error, broken)));
  return { redis, asked };
}

/** `broken` is the last error of the connection. */
function endingOf(error: unknown, broken: Error | undefined): Ending {
  const reason = reasonOf(error);
  const [, node] = /^MOVED \d+ (\S+)$/.exec(reason) ?? [];
  if (node !== undefined)
    return new UsageError(`another cluster node has the key; use --redis redis://${node}`);
  if (error instanceof Error && error.name === 'ReplyError')
    return new Ending(Exit.Refused, `Redis refused: ${reason}`);
  return new Unreachable(`cannot read from Redis: ${broken === undefined ? reason : reasonOf(broken)}`);
}

/** As in files, members that no set can accept are faults. */
function* runsOf(members: readonly Buffer[]): Generator<Run, void, undefined> {
  let items: string[] = [];
  for (const member of members) {
    const fault = faultOf(member);
    if (fault === undefined) {
      items.push(member.toString());
      continue;
    }
    yield { items, fault };
    items = [];
  }
  yield { items };
}

function faultOf(member: Buffer): string | undefined {
  const shown = showBytes(member);
  if (member.length > MAX_LINE_BYTES) return `the member ${shown} has more than ${MAX_LINE_BYTES} bytes`;
  return isUtf8(member) ? undefined : `the member ${shown} is not valid UTF-8`;
}

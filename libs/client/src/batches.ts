import { answersTo } from './answers-ahead.js';
import { blocksOf, type Source } from './blocks.js';
import { sizeOf } from './entries.js';
import { AnswerError } from './errors.js';
import { randomKey } from './random-key.js';
import { JoinedCalls } from './joined-calls.js';
import type { Requests } from './requests.js';

/** Call options. */
export interface CallOptions {
  /** Cancels the call. The service may still execute a request that was already sent. */
  readonly signal?: AbortSignal;
}

/** Options for a call that changes something. */
export interface ChangeOptions extends CallOptions {
  /**
   * Lets several processes make a call only once: for 24 hours, the service executes calls with the same key once. 1 to
   * 230 visible ASCII characters. Default: a random key for each call, which the client also uses for its retries.
   */
  readonly idempotencyKey?: string;
}

/** Options for a list. */
export interface ListOptions {
  /**
   * How many blocks of up to 1,000 entries are in flight, 1 to 16. Default: 4. If an item is on the list twice, either
   * may get `new`. With 1, the first one does.
   */
  readonly ahead?: number;
}

/** A block of a list, with its results. */
export interface AnsweredBlock<Entry, Result> {
  readonly entries: readonly Entry[];
  /** One result per entry, in order. */
  readonly results: readonly Result[];
  /** Why entries aren't URLs, by their index in the block. */
  readonly invalid: ReadonlyMap<number, string>;
}

/** A list's results, in order. You can read them only once, because reading sends the list. */
export class Answers<Entry, Result> implements AsyncIterable<readonly [Entry, Result]> {
  constructor(private readonly answered: AsyncGenerator<AnsweredBlock<Entry, Result>>) {}

  /** Returns whole blocks, which is faster than single entries. */
  blocks(): AsyncIterable<AnsweredBlock<Entry, Result>> {
    return this.answered;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly [Entry, Result]> {
    for await (const { entries, results } of this.answered) {
      for (const [i, entry] of entries.entries()) yield [entry, results[i] as Result];
    }
  }
}

/** Collects all of a list's results. */
export async function gathered<Entry, Result>(
  answers: Answers<Entry, Result>,
): Promise<Pick<AnsweredBlock<Entry, Result>, 'invalid'> & { readonly results: Result[] }> {
  const results: Result[] = [];
  const invalid = new Map<number, string>();
  for await (const block of answers.blocks()) {
    for (const [i, reason] of block.invalid) invalid.set(results.length + i, reason);
    for (const result of block.results) results.push(result);
  }
  return { results, invalid };
}

/** A set's verb, for one entry, an array, or an iterable. */
export interface Verb<Entry, Result, Options> {
  /** Sends one entry. The client sends concurrent calls together. */
  (entry: Entry, options?: Options): Promise<Result>;
  /** One result per entry, in order. */
  (entries: readonly Entry[], options?: Options & ListOptions): Promise<Result[]>;
  /** Returns each entry with its result, in order. Reads ahead by at most `ahead` blocks. */
  (entries: Source<Entry>, options?: Options & ListOptions): Answers<Entry, Result>;
}

/** A route for batches. */
export interface BatchRoute {
  /** Starts with `/v1`. */
  readonly path: string;
  readonly member: 'urls' | 'items' | 'ids';
  readonly mutates: boolean;
}

/** Other members of the body, such as `ttlSeconds`. */
export type Members = Readonly<Record<string, string | number | boolean | undefined>>;

interface BatchAnswer<Result> {
  readonly results: Result[];
  readonly invalid?: readonly { readonly index: number; readonly reason: string }[];
}

/** How long a block's first entry waits for more from a slow source, in ms. */
const MAX_WAIT_MS = 20;
export const DEFAULT_AHEAD = 4;
const MOST_AHEAD = 16;

/** Sends a client's batches, and joins single calls. */
export class Batches {
  /** Keys are route and members. */
  private readonly joined = new Map<string, { readonly isIdle: boolean }>();

  constructor(private readonly requests: Requests) {}

  /** Sends one entry, together with others unless it has its own key. */
  one<Result>(route: BatchRoute, entry: unknown, members: Members, options: ChangeOptions): Promise<Result> {
    const { signal, idempotencyKey } = options;
    if (idempotencyKey !== undefined)
      return this.send<Result>(route, [entry], members, idempotencyKey, signal).then(
        ({ results }) => results[0] as Result,
      );
    return this.joinedFor<Result>(route, members).call(entry, signal);
  }

  /** Sends a list of any length. */
  all<Entry, Result>(
    route: BatchRoute,
    source: Source<Entry>,
    members: Members,
    { signal, idempotencyKey, ahead = DEFAULT_AHEAD }: ChangeOptions & ListOptions,
  ): Answers<Entry, Result> {
    assertAhead(ahead);
    const send = async (entries: Entry[], place: number, leaving: AbortSignal) => {
      const key = idempotencyKey === undefined ? undefined : `${idempotencyKey}.${place}`;
      const { results, invalid = [] } = await this.send<Result>(route, entries, members, key, leaving);
      const reasons = new Map(invalid.map(({ index, reason }) => [index, reason]));
      return { entries, results, invalid: reasons };
    };
    const blocks = blocksOf(source, { sizeOf, maxWaitMs: MAX_WAIT_MS, keepsRest: true });
    return new Answers(answersTo(blocks, send, { ahead, signal }));
  }

  async array<Result>(
    route: BatchRoute,
    entries: readonly unknown[],
    members: Members,
    options: ChangeOptions & ListOptions,
  ): Promise<Result[]> {
    return (await gathered(this.all<unknown, Result>(route, entries, members, options))).results;
  }

  private async send<Result>(
    { path, member, mutates }: BatchRoute,
    entries: readonly unknown[],
    members: Members,
    key: string | undefined,
    signal?: AbortSignal,
  ): Promise<BatchAnswer<Result>> {
    const answer = await this.requests.json<BatchAnswer<Result>>({
      method: 'POST',
      path,
      json: { [member]: entries, ...members },
      ...(mutates && { key: key ?? randomKey() }),
      repeatable: true,
      signal,
    });
    return checked(answer, entries.length, path);
  }

  private joinedFor<Result>(route: BatchRoute, members: Members): JoinedCalls<unknown, Result> {
    const name = `${route.path} ${JSON.stringify(members)}`;
    let joined = this.joined.get(name) as JoinedCalls<unknown, Result> | undefined;
    if (!joined) {
      this.forgetIdle();
      joined = new JoinedCalls<unknown, Result>({
        send: async (entries) => (await this.send<Result>(route, entries, members, undefined)).results,
        sizeOf,
      });
      this.joined.set(name, joined);
    }
    return joined;
  }

  /** Drops idle joined calls, because a program may use many sets and many member values. */
  private forgetIdle(): void {
    if (this.joined.size < MOST_IDLE) return;
    for (const [name, joined] of this.joined) if (joined.isIdle) this.joined.delete(name);
  }
}

const MOST_IDLE = 100;

function checked<Result>(answer: BatchAnswer<Result>, entries: number, path: string): BatchAnswer<Result> {
  const { results } = (answer as BatchAnswer<Result> | null | undefined) ?? {};
  if (Array.isArray(results) && results.length === entries) return answer;
  throw new AnswerError(`POST ${path} with ${entries} entries did not return one result per entry`);
}

/** Throws RangeError. */
export function assertAhead(ahead: number): void {
  if (!Number.isInteger(ahead) || ahead < 1 || ahead > MOST_AHEAD)
    throw new RangeError(`ahead must be a whole number from 1 to ${MOST_AHEAD}, not ${String(ahead)}`);
}

import { answersTo } from './answers-ahead.js';
import { blocksOf, type Source } from './blocks.js';
import { sizeOf } from './entries.js';
import { AnswerError } from './errors.js';
import { randomKey } from './random-key.js';
import { JoinedCalls } from './joined-calls.js';
import type { Requests } from './requests.js';

/** How a call is made. */
export interface CallOptions {
  /** Ends the wait of this caller. What was sent may still be done. */
  readonly signal?: AbortSignal;
}

/** How a call is made that changes something. */
export interface ChangeOptions extends CallOptions {
  /**
   * Makes calls of different processes one: a call that is repeated under its key does nothing twice, for 24 h. 1 to 230 visible
   * ASCII characters. Absent: the client makes one for each call, and uses it for the repeats of its own.
   */
  readonly idempotencyKey?: string;
}

/** How a list is sent. */
export interface ListOptions {
  /**
   * How many blocks of up to 1,000 are under way at once, 1 to 16 (4). Of an item that is on a list twice, either may be the one
   * that is new, unless it is 1.
   */
  readonly ahead?: number;
}

/** A block of a list that has been answered. */
export interface AnsweredBlock<Entry, Result> {
  readonly entries: readonly Entry[];
  /** A result per entry, in order. */
  readonly results: readonly Result[];
  /** Why entries are no URLs, by their places in the block. */
  readonly invalid: ReadonlyMap<number, string>;
}

/** What a list is answered, in its order. It can be read once: reading it is what sends the list. */
export class Answers<Entry, Result> implements AsyncIterable<readonly [Entry, Result]> {
  constructor(private readonly answered: AsyncGenerator<AnsweredBlock<Entry, Result>>) {}

  /** Block by block, as they were sent: faster than one by one. */
  blocks(): AsyncIterable<AnsweredBlock<Entry, Result>> {
    return this.answered;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly [Entry, Result]> {
    for await (const { entries, results } of this.answered) {
      for (const [i, entry] of entries.entries()) yield [entry, results[i] as Result];
    }
  }
}

/** All that a list is answered. */
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

/** A verb of a set: for one entry, for an array, or for whatever can be iterated. */
export interface Verb<Entry, Result, Options> {
  /** Calls that are made in the same moment travel together. */
  (entry: Entry, options?: Options): Promise<Result>;
  /** A result per entry, in order. */
  (entries: readonly Entry[], options?: Options & ListOptions): Promise<Result[]>;
  /** Each entry with its result, in order. It reads ahead of its reader by `ahead` blocks at most. */
  (entries: Source<Entry>, options?: Options & ListOptions): Answers<Entry, Result>;
}

/** A route that takes a batch. */
export interface BatchRoute {
  /** From `/v1` on. */
  readonly path: string;
  readonly member: 'urls' | 'items' | 'ids';
  readonly mutates: boolean;
}

/** What goes with the batch in its body, such as `ttlSeconds`. */
export type Members = Readonly<Record<string, string | number | boolean | undefined>>;

interface BatchAnswer<Result> {
  readonly results: Result[];
  readonly invalid?: readonly { readonly index: number; readonly reason: string }[];
}

/** How long the first entry of a block waits for others of a slow source, ms. */
const MAX_WAIT_MS = 20;
export const DEFAULT_AHEAD = 4;
const MOST_AHEAD = 16;

/** Sends the batches of a client, and knows which calls are to be joined. */
export class Batches {
  /** By route and members. */
  private readonly joined = new Map<string, { readonly isIdle: boolean }>();

  constructor(private readonly requests: Requests) {}

  /** One entry. It travels with others unless it has a key of its own. */
  one<Result>(route: BatchRoute, entry: unknown, members: Members, options: ChangeOptions): Promise<Result> {
    const { signal, idempotencyKey } = options;
    if (idempotencyKey !== undefined)
      return this.send<Result>(route, [entry], members, idempotencyKey, signal).then(
        ({ results }) => results[0] as Result,
      );
    return this.joinedFor<Result>(route, members).call(entry, signal);
  }

  /** A list of any length. */
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

  /** There may be many sets, and members of many values. */
  private forgetIdle(): void {
    if (this.joined.size < MOST_IDLE) return;
    for (const [name, joined] of this.joined) if (joined.isIdle) this.joined.delete(name);
  }
}

const MOST_IDLE = 100;

function checked<Result>(answer: BatchAnswer<Result>, entries: number, path: string): BatchAnswer<Result> {
  const { results } = (answer as BatchAnswer<Result> | null | undefined) ?? {};
  if (Array.isArray(results) && results.length === entries) return answer;
  throw new AnswerError(`POST ${path} of ${entries} was not answered with a result for each`);
}

/** Throws RangeError. */
export function assertAhead(ahead: number): void {
  if (!Number.isInteger(ahead) || ahead < 1 || ahead > MOST_AHEAD)
    throw new RangeError(`ahead must be a whole number from 1 to ${MOST_AHEAD}, not ${String(ahead)}`);
}

import type { Operation } from '../../port/index.js';
import type { Connection } from '../connection/connection.js';
import { type RedisFilter, segmentKeysOf, type SegmentView } from '../layout/filter.js';
import { owedKey, queueKeys } from '../layout/keys.js';
import { operationArgs, refusal } from '../layout/operations.js';
import { hostLimits } from '../scripts/host-lanes.js';
import { CHANGE_KEYS_AT, type QueueScript, scriptFor } from '../scripts/queue-state.js';
import type { Script } from '../scripts/script.js';
import { END_OF_STACK } from '../scripts/script.js';
import { recallScript, recordScript } from '../scripts/segment.js';
import { sweepScript } from '../scripts/sweep.js';
import type { Views } from '../catalogue/views.js';

type Value = string | number | Buffer;

/** A script's answer for a segment. */
export interface Answer<T = string> {
  readonly answers: T;
  /** Number of items in the segment after the call. */
  readonly items: number;
  /** True if the queue needs a sweep step. */
  readonly sweep: boolean;
}

/**
 * Why a script on items has changed nothing.
 *
 * - `grow`: the script needs a layer of the filter (`own`) or of its sync that this instance does not know.
 * - `unmade`: the script needs keys that a layer doesn't have in this segment yet. `place` is the layer's index among
 *   those given to the script.
 * - `view`: the segment did not match the view. The next call uses the new view.
 * - `ended`: the sync cannot continue.
 * - `queue`: the script would have to change the queue.
 * - `full`: the segment has `hidden` hidden items, and the script would have to hide more.
 */
export type Lack =
  | { readonly lack: 'grow'; readonly of: 'own' | 'sync' }
  | { readonly lack: 'unmade'; readonly place: number }
  | { readonly lack: 'view'; readonly view: SegmentView }
  | { readonly lack: 'ended' | 'queue' }
  | { readonly lack: 'full'; readonly hidden: number };

/** One of an operation's scripts. `field` distinguishes it from the operation's other scripts. */
interface Step {
  readonly script: Script;
  readonly operation: Operation;
  readonly field: string;
  readonly args: readonly Value[];
}

/** A script that changes a segment, whether or not the segment takes part in a sync. */
export interface Change extends Step {
  readonly filter: RedisFilter;
  readonly segment: number;
}

/** A script that changes items in one view of their segment. `keys` follow the keys that all scripts have. */
export interface ItemChange extends Step {
  readonly view: SegmentView;
  readonly keys?: readonly string[];
}

/** An instance that sweeps old marks. */
export interface SweepTurn {
  /** Hexadecimal. */
  readonly id: string;
  /** How long its sweep has taken so far, in ms. */
  readonly takenMs: number;
}

export interface SegmentLimits {
  /** Limit on a segment's operation records per origin, in bytes. */
  readonly maxRecordBytes: number;
  /** How many marks of forgotten items a segment's queue may have before a sweep begins. A long queue may have more. */
  readonly maxMarks: number;
  /** Limit on the hosts of a set with `perHost`. */
  readonly maxHosts: number;
}

/** Runs scripts on segments: adds the arguments that all scripts have, and turns refusals into errors. */
export class Segments {
  constructor(
    private readonly connection: Connection,
    private readonly views: Views,
    readonly limits: SegmentLimits,
  ) {}

  /** Runs a script that reads items. */
  async read(
    script: Script,
    view: SegmentView,
    args: readonly Value[],
    deadline: number,
    more: readonly string[] = [],
  ): Promise<Answer | Lack> {
    const { cells, meta } = segmentKeysOf(view.filter, view.segment);
    const values = [...head(view), ...args];
    const reply = await this.connection.run(script, [cells, meta, ...more], values, deadline);
    return lackIn(reply) ?? this.decodeItems(reply, view, deadline, undefined);
  }

  /** Runs a script that reads the queue and returns bytes. */
  async readQueue(
    script: QueueScript,
    filter: RedisFilter,
    segment: number,
    args: Value[],
    deadline: number,
  ): Promise<Answer<Buffer>> {
    return this.seen(filter, segment, deadline, undefined, async (view) => {
      const keys = segmentKeysOf(filter, segment);
      const all = [keys.cells, keys.meta, ...queueKeys(keys)];
      return this.connection.run(scriptFor(filter, script), all, [...head(view), ...args], deadline, true);
    });
  }

  /** Runs a script that changes the queue and is safe to repeat. */
  async changeQueue(
    script: QueueScript,
    filter: RedisFilter,
    segment: number,
    args: readonly Value[],
    deadline: number,
  ): Promise<string> {
    const { answers } = await this.seen<string>(filter, segment, deadline, undefined, (view) => {
      const keys = segmentKeysOf(filter, segment);
      const all = [keys.cells, keys.meta, ...queueKeys(keys)];
      return this.connection.mutate(scriptFor(filter, script), all, [...head(view), ...args], deadline);
    });
    return answers;
  }

  /** Runs a script that changes the segment, at most once per operation and field. */
  async change(change: Change): Promise<Answer> {
    const { filter, segment, operation } = change;
    return this.seen(filter, segment, operation.deadline, operation, (view) =>
      this.call({ ...change, view }),
    );
  }

  /** Like `change`, for scripts that return bytes. */
  async changeBinary(change: Change): Promise<Answer<Buffer>> {
    const { filter, segment, operation } = change;
    return this.seen(filter, segment, operation.deadline, operation, (view) =>
      this.call({ ...change, view }, true),
    );
  }

  /**
   * Like `change`, for scripts on items, but runs only once, because another view of the segment may need another
   * script.
   */
  async changeItems(change: ItemChange): Promise<Answer | Lack> {
    const { view, operation } = change;
    const reply = await this.call(change);
    return lackIn(reply) ?? this.decodeItems(reply, view, operation.deadline, operation);
  }

  /**
   * Records in the filter's first segment that a caller's operation has begun on several segments. A request with the
   * same key and a different body then changes nothing in any segment. With one segment, the first chunk's record has
   * this effect.
   */
  async begin(filter: RedisFilter, operation: Operation, verb: string): Promise<void> {
    if (operation.origin !== 'caller' || filter.spread === 1) return;
    // The verb comes first, because an id may end like a chunk number.
    const field = `begun:${verb}:${operation.id}`;
    await this.change({ script: recordScript, filter, segment: 0, operation, field, args: [''] });
  }

  /** See Queue.record: the record is in the filter's first segment. */
  async record(filter: RedisFilter, operation: Operation, answer: string): Promise<string> {
    const place = { filter, segment: 0, operation, field: callField(operation) };
    return (await this.change({ script: recordScript, ...place, args: [answer] })).answers;
  }

  /** See Queue.recall. */
  async recallCall(filter: RedisFilter, operation: Operation): Promise<string | undefined> {
    const found = await this.recall({ filter, segment: 0, operation, field: callField(operation) });
    return found?.answers;
  }

  /**
   * One sweep step (scripts/sweep.ts). Returns true if more steps are needed. With `turn`, sweeps old marks, and
   * returns how long to wait before the next step, in ms, or false if no marks are left.
   */
  async sweep(
    filter: RedisFilter,
    segment: number,
    entries: number,
    deadline: number,
    turn?: SweepTurn,
  ): Promise<boolean | number> {
    const sweep = ['made', this.limits.maxMarks, entries, turn?.id ?? '', turn?.takenMs ?? 0];
    const { answers } = await this.seen<string>(filter, segment, deadline, undefined, (view) => {
      const keys = segmentKeysOf(filter, segment);
      const { current, previous } = keys.operations.made;
      return this.connection.mutate(
        scriptFor(filter, sweepScript),
        [keys.cells, keys.meta, current, previous, ...queueKeys(keys)],
        [...head(view), ...sweep, ...hostLimits(filter, this.limits.maxHosts, view.sync?.stack.base)],
        deadline,
      );
    });
    return answers.startsWith('-') ? -Number(answers) : answers === '1';
  }

  /** The segment's record for the operation under `field`, or undefined. */
  async recall(recall: Omit<Change, 'script' | 'args'>): Promise<Answer | undefined> {
    const { filter, segment, operation } = recall;
    const step = { ...recall, script: recallScript, args: [] };
    const found = await this.seen<string | null>(
      filter,
      segment,
      operation.deadline,
      operation,
      async (view) => {
        const reply = await this.call({ ...step, view });
        return reply === 'NONE' ? [null, 0] : reply;
      },
    );
    const { answers } = found;
    return answers === null ? undefined : { ...found, answers };
  }

  /** Makes a call, and repeats it with a new view whenever the segment has joined or left a sync. */
  private async seen<T>(
    filter: RedisFilter,
    segment: number,
    deadline: number,
    operation: Operation | undefined,
    call: (view: SegmentView) => Promise<unknown>,
  ): Promise<Answer<T>> {
    for (let view = filter.viewOf(segment); ;) {
      const reply = await call(view);
      const word = Buffer.isBuffer(reply) ? reply.toString() : reply;
      if (word !== 'LOST') return decode<T>(word, view, operation);
      view = await this.views.look(view, deadline);
    }
  }

  private async decodeItems(
    reply: unknown,
    view: SegmentView,
    deadline: number,
    operation: Operation | undefined,
  ): Promise<Answer | Lack> {
    if (reply !== 'LOST') return decode(reply, view, operation);
    return { lack: 'view', view: await this.views.look(view, deadline) };
  }

  private call(change: ItemChange, binary = false): Promise<unknown> {
    const { script, view, operation, field, args, keys: more = [] } = change;
    const keys = segmentKeysOf(view.filter, view.segment);
    const { current, previous } = keys.operations[operation.origin];
    const queue = script.numberOfKeys >= CHANGE_KEYS_AT ? queueKeys(keys) : [];
    const sync = queue.length > 0 ? view.sync : undefined;
    const owed = sync ? [owedKey(keys, sync.stack.base)] : [];
    return this.connection.mutate(
      script,
      [keys.cells, keys.meta, current, previous, ...queue, ...owed, ...more],
      (attempt) => [
        ...head(view),
        ...operationArgs(operation, field, this.limits.maxRecordBytes, attempt),
        ...args,
        ...(queue.length > 0 ? hostLimits(view.filter, this.limits.maxHosts, sync?.stack.base) : []),
      ],
      operation.deadline,
      binary,
    );
  }
}

/** The record field for an operation that makes several calls. */
const callField = ({ id }: Operation): string => `call:${id}`;

/** ARGV 1 and 2 of every script on a segment. */
const head = ({ token, filter }: SegmentView): [string, number] => [token, filter.pieceBytes];

/** Decodes {answers, items, sweep, open, items of the other layers}. items/programs.ts describes more fields. */
function decode<T>(
  reply: unknown,
  { filter, segment, sync }: SegmentView,
  operation: Operation | undefined,
): Answer<T> {
  if (Array.isArray(reply) && typeof reply[1] === 'number') {
    const [answers, items, sweep, open, ...later] = reply as [T, number, number?, number?, ...number[]];
    const own = later.includes(END_OF_STACK) ? later.indexOf(END_OF_STACK) : later.length;
    filter.stack.saw(segment, open, [items, ...later.slice(0, own)]);
    const [syncOpen, ...stored] = later.slice(own + 1);
    sync?.stack.saw(segment, syncOpen, stored);
    return { answers, items, sweep: sweep === 1 };
  }
  if ((reply === 'REUSED' || reply === 'EXPIRED') && operation) throw refusal(reply, operation);
  throw new Error(`unexpected reply from a script: ${String(reply).slice(0, 80)}`);
}

function lackIn(reply: unknown): Lack | undefined {
  const [, word, place] =
    (typeof reply === 'string' && /^(GROW|GROWSYNC|UNMADE|ENDED|QUEUE|FULL) ?(\d*)$/.exec(reply)) || [];
  if (word === undefined) return undefined;
  if (word === 'ENDED') return { lack: 'ended' };
  if (word === 'QUEUE') return { lack: 'queue' };
  if (word === 'FULL') return { lack: 'full', hidden: Number(place) };
  if (word === 'UNMADE') return { lack: 'unmade', place: Number(place) };
  return { lack: 'grow', of: word === 'GROW' ? 'own' : 'sync' };
}

import { segmentBytes } from '#bloom';
import type { Operation } from '../store.js';
import type { Catalogue } from './catalogue.js';
import type { Connection } from './connection.js';
import type { RedisFilter } from './filter.js';
import { queueKeys, type SegmentKeys } from './keys.js';
import { operationArgs, refusal } from './operations.js';
import { CHANGE_KEYS_AT } from './scripts/queue-state.js';
import type { Script } from './scripts/script.js';
import { beginScript, recallScript } from './scripts/segment.js';
import { sweepScript } from './scripts/sweep.js';

type Value = string | number | Buffer;

/** The answer of a script on a segment. */
export interface Answer<T = string> {
  readonly answers: T;
  /** Items of the segment after the call. */
  readonly items: number;
  /** It is time for a step of a sweep of the queue. */
  readonly sweep: boolean;
}

/**
 * Why a script on layers has changed nothing: it needs a layer that the filter is not known to have, or else the keys in
 * this segment of the layers from `unmade` on.
 */
export interface Lack {
  readonly unmade: number | undefined;
}

/** A script that changes a segment for an operation. `field` distinguishes it from the operation's other scripts. */
export interface Change {
  readonly script: Script;
  readonly filter: RedisFilter;
  readonly segment: number;
  readonly operation: Operation;
  readonly field: string;
  readonly args: readonly Value[];
}

export interface SegmentLimits {
  /** Bytes of the operation records of a segment, per origin. */
  readonly maxRecordBytes: number;
  /** Marks of forgotten items that are kept of a segment's queue without a sweep; of a long queue more. */
  readonly maxMarks: number;
}

/** Runs scripts on segments: arguments every script has, refusals turned into errors. */
export class Segments {
  constructor(
    private readonly connection: Connection,
    private readonly catalogue: Catalogue,
    readonly limits: SegmentLimits,
  ) {}

  /** Runs a script that changes nothing. */
  async read(
    script: Script,
    filter: RedisFilter,
    segment: number,
    args: Value[],
    deadline: number,
  ): Promise<Answer> {
    const keys = segmentKeysOf(filter, segment);
    const reply = await this.connection.run(
      script,
      [keys.cells, keys.meta],
      [filter.generation, segmentBytes(filter.geometry), ...args],
      deadline,
    );
    return this.decode<string>(reply, filter, segment, undefined);
  }

  /** As `read`, of the queue, for scripts whose answers are bytes. */
  async readQueue(
    script: Script,
    filter: RedisFilter,
    segment: number,
    args: Value[],
    deadline: number,
  ): Promise<Answer<Buffer>> {
    const keys = segmentKeysOf(filter, segment);
    const reply = await this.connection.run(
      script,
      [keys.cells, keys.meta, ...queueKeys(keys)],
      [filter.generation, segmentBytes(filter.geometry), ...args],
      deadline,
      true,
    );
    const word = Buffer.isBuffer(reply) ? reply.toString() : reply;
    return this.decode<Buffer>(word, filter, segment, undefined);
  }

  /** A script that changes the segment, at most once per operation and field. */
  async change(change: Change): Promise<Answer> {
    const reply = await this.call(change);
    return this.decode<string>(reply, change.filter, change.segment, change.operation);
  }

  /**
   * As `change`, of a script on layers, whose `keys` come last.
   */
  async changeLayers(change: Change, keys: readonly string[]): Promise<Answer | Lack> {
    const reply = await this.call(change, false, keys);
    return lackIn(reply) ?? this.decode(reply, change.filter, change.segment, change.operation);
  }

  /** As `changeLayers`, of a script that changes nothing. */
  async readLayers(
    script: Script,
    filter: RedisFilter,
    segment: number,
    args: readonly Value[],
    keys: readonly string[],
    deadline: number,
  ): Promise<Answer | Lack> {
    const { cells, meta } = segmentKeysOf(filter, segment);
    const reply = await this.connection.run(
      script,
      [cells, meta, ...keys],
      [filter.generation, segmentBytes(filter.geometry), ...args],
      deadline,
    );
    return lackIn(reply) ?? this.decode(reply, filter, segment, undefined);
  }

  /** As `change`, for scripts whose answers are bytes. */
  async changeBinary(change: Change): Promise<Answer<Buffer>> {
    const reply = await this.call(change, true);
    const word = Buffer.isBuffer(reply) ? reply.toString() : reply;
    return this.decode<Buffer>(word, change.filter, change.segment, change.operation);
  }

  /**
   * Records the start of a caller's operation on several segments in the filter's first segment. Then a key that is
   * used again with another body changes nothing anywhere. In a filter of one segment the record of the first chunk
   * does the same.
   */
  async begin(filter: RedisFilter, operation: Operation, verb: string): Promise<void> {
    if (operation.origin !== 'caller' || filter.geometry.segments === 1) return;
    // The field begins with a verb of its own, because an id may end like the number of a chunk.
    const field = `begun:${verb}:${operation.id}`;
    await this.change({ script: beginScript, filter, segment: 0, operation, field, args: [] });
  }

  /** A step of a sweep; see scripts/sweep.ts. Answers whether there is more to do. */
  async sweep(filter: RedisFilter, segment: number, entries: number, deadline: number): Promise<boolean> {
    const keys = segmentKeysOf(filter, segment);
    const { current, previous } = keys.operations.made;
    const reply = await this.connection.mutate(
      sweepScript,
      [keys.cells, keys.meta, current, previous, ...queueKeys(keys)],
      [filter.generation, segmentBytes(filter.geometry), 'made', this.limits.maxMarks, entries],
      deadline,
    );
    const { answers } = await this.decode<string>(reply, filter, segment, undefined);
    return answers === '1';
  }

  /** Whether the segment has a record of the operation under `field`. */
  async recalls(recall: Omit<Change, 'script' | 'args'>): Promise<boolean> {
    const reply = await this.call({ ...recall, script: recallScript, args: [] });
    if (reply === 'NONE') return false;
    await this.decode(reply, recall.filter, recall.segment, recall.operation);
    return true;
  }

  private call(change: Change, binary = false, more: readonly string[] = []): Promise<unknown> {
    const { script, filter, segment, operation, field, args } = change;
    const keys = segmentKeysOf(filter, segment);
    const { current, previous } = keys.operations[operation.origin];
    const queue = script.numberOfKeys >= CHANGE_KEYS_AT ? queueKeys(keys) : [];
    return this.connection.mutate(
      script,
      [keys.cells, keys.meta, current, previous, ...queue, ...more],
      (attempt) => [
        filter.generation,
        segmentBytes(filter.geometry),
        ...operationArgs(operation, field, this.limits.maxRecordBytes, attempt),
        ...args,
      ],
      operation.deadline,
      binary,
    );
  }

  private async decode<T>(
    reply: unknown,
    filter: RedisFilter,
    segment: number,
    operation: Operation | undefined,
  ): Promise<Answer<T>> {
    if (Array.isArray(reply) && typeof reply[1] === 'number') {
      const [answers, items, sweep, open, ...later] = reply as [T, number, number?, number?, ...number[]];
      filter.saw(segment, open, [items, ...later]);
      return { answers, items, sweep: sweep === 1 };
    }
    if (reply === 'LOST') throw await this.catalogue.explainLoss(filter);
    if ((reply === 'REUSED' || reply === 'EXPIRED') && operation) throw refusal(reply, operation);
    throw new Error(`unexpected reply of a script: ${String(reply).slice(0, 80)}`);
  }
}

function lackIn(reply: unknown): Lack | undefined {
  const [, word, layer] = (typeof reply === 'string' && /^(GROW|UNMADE) ?(\d*)$/.exec(reply)) || [];
  if (word === undefined) return undefined;
  return { unmade: word === 'UNMADE' ? Number(layer) : undefined };
}

export function segmentKeysOf(filter: RedisFilter, segment: number): SegmentKeys {
  const keys = filter.segments[segment];
  if (!keys) throw new RangeError(`filter ${filter.name} has no segment ${segment}`);
  return keys;
}

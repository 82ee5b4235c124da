import { copiesIn, pageBytes, type Positions } from '#bloom';
import { epochMs } from '../age.js';
import { hidingFull } from '../refusals.js';
import type { RedisFilter, RedisList, SegmentView } from './filter.js';
import { hiddenKey, removedKey } from './keys.js';
import type { ChunkCall } from './layered-calls.js';
import { locate } from './locate.js';
import { type Chunk, packHashes, packPayloads } from './packing.js';
import {
  addAgedScript,
  checkAgedScript,
  countAgedScript,
  keepAgedScript,
  listedAgedScript,
  removeAgedScript,
} from './scripts/aged.js';
import type { AgedLists } from './scripts/aged-segment.js';
import type { Script } from './scripts/script.js';
import { type Answer, type Lack, segmentKeysOf, type Segments } from './segments.js';

type Value = string | number | Buffer;

const READS = { check: checkAgedScript, count: countAgedScript, listed: listedAgedScript } as const;

/** The bounds of a filter, for all of its segments together. */
export interface AgedLimits {
  readonly maxSyncForgets: number;
  readonly maxHidden: number;
}

/** Of a chunk: the lists of layers that its script is about, their keys, and ARGV. */
interface Call {
  readonly lists: AgedLists;
  readonly keys: readonly string[];
  readonly packed: Buffer | '';
  readonly hashes: Buffer;
  readonly args: readonly Value[];
}

/** The calls on a chunk of items in a segment of a filter that ages. */
export class AgedCalls {
  private readonly scripts = new Map<string, Script>();

  constructor(
    private readonly segments: Segments,
    private readonly limits: AgedLimits,
  ) {}

  add(
    call: ChunkCall,
    view: SegmentView,
    payloads: readonly string[] | undefined,
    ttlMs?: number,
  ): Promise<Answer | Lack> {
    const { filter, positions, chunk } = call;
    const found = this.locate(view, positions, chunk);
    const queued = payloads !== undefined;
    const script = this.made(`add${queued}`, found.lists, () => addAgedScript(found.lists, queued));
    const queue = payloads
      ? [packPayloads(positions, chunk.indexes, payloads), filter.maxAttempts ?? 0]
      : ['', ''];
    const copies = copiesIn(positions, chunk.indexes);
    return this.change(call, view, script, found, queue, [ttlMs ?? maxAgeMs(filter), copies]);
  }

  async remove(call: ChunkCall, view: SegmentView): Promise<Answer | Lack> {
    const { filter, positions, chunk } = call;
    const { queued, spread } = filter;
    const found = this.locate(view, positions, chunk);
    const { maxSyncForgets, maxHidden } = this.limits;
    const script = this.made(`remove${queued}`, found.lists, () => removeAgedScript(found.lists, queued));
    const queue = [this.segments.limits.maxMarks, ''];
    const noted = Math.max(LEAST_NOTED, Math.ceil(maxSyncForgets / spread));
    const most = Math.ceil(maxHidden / spread);
    const answer = await this.change(call, view, script, found, queue, [noted, most]);
    if ('lack' in answer && answer.lack === 'full') throw hidingFull(filter, answer.hidden, most);
    return answer;
  }

  keep(call: ChunkCall, view: SegmentView, counted: boolean): Promise<Answer | Lack> {
    const { filter, positions, chunk } = call;
    const found = this.locate(view, positions, chunk);
    const script = this.made('keep', found.lists, () => keepAgedScript(found.lists));
    const age = maxAgeMs(filter);
    const verb = [counted ? age : '0', (view.sync?.openedAt ?? 0) + age];
    return this.change(call, view, script, found, ['', ''], verb);
  }

  read(
    verb: keyof typeof READS,
    view: SegmentView,
    positions: Positions,
    chunk: Chunk,
    deadline: number,
  ): Promise<Answer | Lack> {
    const { filter } = view;
    const { lists, keys, packed, hashes, args } = this.locate(view, positions, chunk);
    const script = this.made(verb, lists, () => READS[verb](lists));
    const { list } = filter;
    const values = [chunk.indexes.length, epochMsOf(filter), packed, hashes, list.cellsOf(0), ...args];
    return this.segments.read(script, view, values, deadline, keys);
  }

  private change(
    call: ChunkCall,
    view: SegmentView,
    script: Script,
    { packed, hashes, args, keys }: Call,
    queue: readonly Value[],
    verb: readonly Value[],
  ): Promise<Answer | Lack> {
    const { filter, sync } = view;
    const { list } = filter;
    const values: Value[] = [
      ...[call.chunk.indexes.length, epochMsOf(filter), packed, hashes, ...queue],
      ...[mayGrow(list), list.shareOf(0), sync ? mayGrow(sync.list) : '0'],
      ...[...verb, list.cellsOf(0), ...args],
    ];
    return this.segments.changeItems({ ...call, view, script, args: values, keys });
  }

  private locate({ filter, sync }: SegmentView, positions: Positions, chunk: Chunk): Call {
    const own = locate(filter, filter.list, positions, chunk, true);
    const second = sync && locate(filter, sync.list, positions, chunk, false);
    const keys = segmentKeysOf(filter, chunk.segment);
    return {
      lists: {
        pageBytes: pageBytesOf(filter.list),
        own: own.shapes,
        sync: sync && second && { layers: second.shapes, pageBytes: pageBytesOf(sync.list) },
      },
      keys: [
        hiddenKey(keys, filter.base),
        ...(sync ? [hiddenKey(keys, sync.list.base), removedKey(keys, sync.list.base)] : []),
        ...own.keys,
        ...(second?.keys ?? []),
      ],
      packed: own.packed,
      hashes: packHashes(positions, chunk.indexes),
      args: [...own.args, ...(second?.args ?? [])],
    };
  }

  private made(verb: string, { own, sync, pageBytes }: AgedLists, make: () => Script): Script {
    const text = JSON.stringify([verb, own, pageBytes, sync]);
    let script = this.scripts.get(text);
    if (!script) this.scripts.set(text, (script = make()));
    return script;
  }
}

/** Removals that a segment notes at least during a sync. */
export const LEAST_NOTED = 1_000;

const maxAgeMs = ({ maxAgeSeconds = 0 }: RedisFilter) => maxAgeSeconds * 1_000;

const epochMsOf = ({ maxAgeSeconds = 0 }: RedisFilter) => epochMs(maxAgeSeconds);

const pageBytesOf = ({ plan: [first] }: RedisList) => pageBytes(first.geometry);

const mayGrow = ({ made, plan }: RedisList) => (made < plan.length ? '1' : '0');

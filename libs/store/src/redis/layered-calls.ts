import type { Positions } from '#bloom';
import { StoreError } from '../errors.js';
import type { Operation, Quota } from '../store.js';
import type { KnownSync, RedisFilter, RedisList } from './filter.js';
import { AgedCalls, type AgedLimits, LEAST_NOTED } from './aged-calls.js';
import type { Growth } from './growth.js';
import { removedKey } from './keys.js';
import { locate, type Located } from './locate.js';
import { type Chunk, packHashes, packPayloads } from './packing.js';
import { type Answer, type Lack, segmentKeysOf, type Segments } from './segments.js';
import { addScript, checkScript, countScript, removeScript } from './scripts/items.js';
import {
  addLayersScript,
  checkLayersScript,
  countLayersScript,
  type LayerShape,
  removeLayersScript,
} from './scripts/layers.js';
import type { Script } from './scripts/script.js';
import {
  addSyncedScript,
  checkSyncedScript,
  countSyncedScript,
  keepScript,
  listedScript,
  type Lists,
  removeSyncedScript,
} from './scripts/synced.js';

const READS = {
  check: { plain: checkScript, layers: checkLayersScript, synced: checkSyncedScript },
  count: { plain: countScript, layers: countLayersScript, synced: countSyncedScript },
} as const;

/** A call that changes a chunk of items, and the field of its record. */
export interface ChunkCall {
  readonly filter: RedisFilter;
  readonly positions: Positions;
  readonly chunk: Chunk;
  readonly operation: Operation;
  readonly field: string;
}

/**
 * The calls on a chunk of items, by the script that its segment needs: of a filter of one layer (scripts/items.ts), of one that
 * grows (scripts/layers.ts), or while the segment takes part in a sync (scripts/synced.ts).
 */
export class LayeredCalls {
  private readonly scripts = new Map<string, Script>();

  private readonly aged: AgedCalls;

  constructor(
    private readonly segments: Segments,
    private readonly growth: Growth,
    private readonly limits: AgedLimits,
  ) {
    this.aged = new AgedCalls(segments, limits);
  }

  async add(call: ChunkCall, payloads?: readonly string[], ttlMs?: number): Promise<Answer> {
    const { filter, positions, chunk, operation } = call;
    const { segment, indexes } = chunk;
    const { quota } = operation;
    const queued = payloads !== undefined;
    const multiset = filter.semantics === 'multiset' ? '1' : '0';
    const answer = await this.grown(filter, segment, operation.deadline, quota, () => {
      if (ages(filter)) return this.aged.add(call, payloads, ttlMs);
      const own = locate(filter, filter.list, positions, chunk, true);
      const queue = payloads ? [packPayloads(positions, indexes, payloads), filter.maxAttempts ?? 0] : [];
      const head = [indexes.length, valuesOf(filter), multiset, own.packed];
      const sync = filter.syncIn(segment);
      if (!sync && isPlain(filter)) {
        const script = this.script(`add${queued}`, own.shapes, () => addScript(shapeOf(own), queued));
        return this.segments.changeItems({ ...call, segment, script, args: [...head, ...queue] });
      }
      const args = [
        ...[...head, ...(queued ? queue : ['', ''])],
        ...[mayGrow(filter.list), filter.list.shareOf(0)],
      ];
      if (!sync) {
        const script = this.script(`layers-add${queued}`, own.shapes, () =>
          addLayersScript(own.shapes, queued),
        );
        return this.segments.changeItems(
          { ...call, segment, script, args: [...args, ...own.args] },
          own.keys,
        );
      }
      const second = locate(filter, sync.list, positions, chunk, false);
      const lists = { own: own.shapes, sync: second.shapes };
      const script = this.synced(`add${queued}`, lists, () => addSyncedScript(lists, queued));
      const more = [mayGrow(sync.list), packHashes(positions, indexes), ...own.args, ...second.args];
      return this.segments.changeItems(
        { ...call, segment, script, args: [...args, ...more] },
        this.keysOf(filter, segment, sync.list, own, second),
      );
    });
    if (filter.list.nearlyFull(segment)) this.growth.ahead(filter, filter.list, quota);
    this.growSync(filter, segment, quota);
    return answer;
  }

  remove(call: ChunkCall): Promise<Answer> {
    const { filter, positions, chunk, operation } = call;
    const { segment, indexes } = chunk;
    const { queued, spread } = filter;
    return this.grown(filter, segment, operation.deadline, undefined, () => {
      if (ages(filter)) return this.aged.remove(call);
      const own = locate(filter, filter.list, positions, chunk, true);
      const { maxMarks } = this.segments.limits;
      const head = [indexes.length, valuesOf(filter), own.packed];
      const hashes = queued ? [packHashes(positions, indexes), maxMarks] : [];
      const sync = filter.syncIn(segment);
      if (!sync && isPlain(filter)) {
        const script = this.script(`remove${queued}`, own.shapes, () => removeScript(shapeOf(own), queued));
        return this.segments.changeItems({ ...call, segment, script, args: [...head, ...hashes] });
      }
      if (!sync) {
        const script = this.script(`layers-remove${queued}`, own.shapes, () =>
          removeLayersScript(own.shapes, queued),
        );
        const args = [...head, ...(queued ? hashes : ['', '']), ...own.args];
        return this.segments.changeItems({ ...call, segment, script, args }, own.keys);
      }
      const second = locate(filter, sync.list, positions, chunk, false);
      const lists = { own: own.shapes, sync: second.shapes };
      const script = this.synced(`remove${queued}`, lists, () => removeSyncedScript(lists, queued));
      const most = Math.max(LEAST_NOTED, Math.ceil(this.limits.maxSyncForgets / spread));
      const args = [...head, packHashes(positions, indexes), maxMarks, most, ...own.args, ...second.args];
      return this.segments.changeItems(
        { ...call, segment, script, args },
        this.keysOf(filter, segment, sync.list, own, second),
      );
    });
  }

  /** Undefined if the segment takes no part in the sync, or can do so no longer. `counted`: the items are listed, and not of the queue. */
  async keep(call: ChunkCall, id: string, counted: boolean): Promise<Answer | undefined> {
    const { filter, chunk, operation } = call;
    const { segment } = chunk;
    const { quota } = operation;
    const end = { over: false };
    const answer = await this.grown(filter, segment, operation.deadline, quota, async () => {
      const sync = filter.syncIn(segment);
      if (sync?.id !== id) {
        end.over = true;
        return NOTHING;
      }
      const answer = await (ages(filter)
        ? this.aged.keep(call, counted)
        : this.keepHere(call, sync, counted));
      if ('lack' in answer && answer.lack === 'ended') {
        end.over = true;
        return NOTHING;
      }
      return answer;
    });
    this.growSync(filter, segment, quota);
    return end.over ? undefined : answer;
  }

  private keepHere(call: ChunkCall, sync: KnownSync, counted: boolean): Promise<Answer | Lack> {
    const { filter, positions, chunk } = call;
    const { segment, indexes } = chunk;
    const own = locate(filter, filter.list, positions, chunk, true);
    const second = locate(filter, sync.list, positions, chunk, false);
    const lists = { own: own.shapes, sync: second.shapes };
    const script = this.synced('keep', lists, () => keepScript(lists));
    const head = [indexes.length, valuesOf(filter), own.packed, packHashes(positions, indexes)];
    const args = [...head, mayGrow(sync.list), counted ? '1' : '0', ...own.args, ...second.args];
    return this.segments.changeItems(
      { ...call, segment, script, args },
      this.keysOf(filter, segment, sync.list, own, second),
    );
  }

  read(
    verb: keyof typeof READS,
    filter: RedisFilter,
    positions: Positions,
    chunk: Chunk,
    deadline: number,
  ): Promise<Answer> {
    const { segment, indexes } = chunk;
    const { plain, layers, synced } = READS[verb];
    return this.grown(filter, segment, deadline, undefined, () => {
      if (ages(filter)) return this.aged.read(verb, filter, positions, chunk, deadline);
      const own = locate(filter, filter.list, positions, chunk, true);
      const head = [indexes.length, valuesOf(filter), own.packed];
      const sync = filter.syncIn(segment);
      if (!sync && isPlain(filter)) {
        const script = this.script(verb, own.shapes, () => plain(shapeOf(own)));
        return this.segments.read(script, filter, segment, head, deadline);
      }
      if (!sync) {
        const script = this.script(`layers-${verb}`, own.shapes, () => layers(own.shapes));
        return this.segments.read(script, filter, segment, [...head, ...own.args], deadline, own.keys);
      }
      const second = locate(filter, sync.list, positions, chunk, false);
      const lists = { own: own.shapes, sync: second.shapes };
      const script = this.synced(verb, lists, () => synced(lists));
      const args = [...head, ...own.args, ...second.args];
      return this.segments.read(script, filter, segment, args, deadline, [...own.keys, ...second.keys]);
    });
  }

  /** 1 for each item that the list of the sync claims; 0 for all if the segment takes no part in one. */
  listed(filter: RedisFilter, positions: Positions, chunk: Chunk, deadline: number): Promise<Answer> {
    const { segment, indexes } = chunk;
    return this.grown(filter, segment, deadline, undefined, async () => {
      const sync = filter.syncIn(segment);
      if (!sync) return { ...NOTHING, answers: '0'.repeat(indexes.length) };
      if (ages(filter)) return this.aged.read('listed', filter, positions, chunk, deadline);
      const own = locate(filter, filter.list, positions, chunk, true);
      const second = locate(filter, sync.list, positions, chunk, false);
      const lists = { own: own.shapes, sync: second.shapes };
      const script = this.synced('listed', lists, () => listedScript(lists));
      const args = [indexes.length, valuesOf(filter), own.packed, ...own.args, ...second.args];
      return this.segments.read(script, filter, segment, args, deadline, [...own.keys, ...second.keys]);
    });
  }

  /**
   * Runs a script until its segment is as it takes it to be, and has the layers that it needs. It may also be that others have
   * made them. What is run again has the same operation and field, so it is done once.
   */
  private async grown(
    filter: RedisFilter,
    segment: number,
    deadline: number,
    quota: Quota | undefined,
    run: () => Promise<Answer | Lack>,
  ): Promise<Answer> {
    for (;;) {
      const own = filter.list.made;
      const sync = filter.syncIn(segment);
      const ofSync = sync?.list.made ?? 0;
      const answer = await run();
      if ('answers' in answer) return answer;
      if (Date.now() > deadline) {
        throw new StoreError('STORE_UNAVAILABLE', `filter ${filter.name} could not grow in time`);
      }
      if (answer.lack === 'grow') {
        if (answer.of === 'own') await this.growth.grow(filter, filter.list, own, quota, deadline);
        else if (sync) await this.growth.grow(filter, sync.list, ofSync, quota, deadline);
      } else if (answer.lack === 'unmade') {
        const { list, layer } = at(filter, sync, own, answer.place);
        await this.growth.remake(filter, list, segment, layer, deadline);
      }
    }
  }

  private growSync(filter: RedisFilter, segment: number, quota: Quota | undefined): void {
    const list = filter.syncIn(segment)?.list;
    if (list?.nearlyFull(segment)) this.growth.ahead(filter, list, quota);
  }

  /** Of a script that changes a segment that takes part in a sync. */
  private keysOf(
    filter: RedisFilter,
    segment: number,
    { base }: RedisList,
    own: Located,
    second: Located,
  ): string[] {
    return [removedKey(segmentKeysOf(filter, segment), base), ...own.keys, ...second.keys];
  }

  private script(verb: string, shapes: readonly LayerShape[], make: () => Script): Script {
    return this.made([verb, ...shapes.map(textOf)].join(), make);
  }

  private synced(verb: string, { own, sync }: Lists, make: () => Script): Script {
    return this.made(['synced', verb, ...own.map(textOf), '', ...sync.map(textOf)].join(), make);
  }

  private made(key: string, make: () => Script): Script {
    let script = this.scripts.get(key);
    if (!script) this.scripts.set(key, (script = make()));
    return script;
  }
}

/** For a segment that takes no part in a sync. */
const NOTHING: Answer = { answers: '', items: 0, sweep: false };

const textOf = ({ hashes, wide, split }: LayerShape) => `${hashes}${wide ? 'w' : ''}${split ? 's' : ''}`;

const shapeOf = ({ shapes }: Located) => shapes[0] as LayerShape;

const valuesOf = ({ geometry }: RedisFilter) => 2 ** geometry.cellBits;

const ages = ({ maxAgeSeconds }: RedisFilter) => maxAgeSeconds !== undefined;

/** Whether all that a segment has of a filter is in one key. */
const isPlain = ({ list }: RedisFilter) => !list.grows && list.piecesOf(0) === 1;

const mayGrow = ({ made, plan }: RedisList) => (made < plan.length ? '1' : '0');

/** The layer at a place among those that a script was given, of which the first `own` are the filter's own. */
function at(filter: RedisFilter, sync: KnownSync | undefined, own: number, place: number) {
  if (place < own || !sync) return { list: filter.list, layer: place };
  return { list: sync.list, layer: place - own };
}

import { copiesIn, type Positions } from '#bloom';
import { msUntil } from '../clock.js';
import { StoreError } from '../errors.js';
import { called, lacksRoom } from '../refusals.js';
import type { Operation, Quota } from '../store.js';
import type { KnownSync, RedisFilter, RedisList, SegmentView } from './filter.js';
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

/** Gives up a sync of a filter, because its layers have no room for an add. */
export type EndSync = (filter: RedisFilter, id: string, deadline: number) => Promise<void>;

/** How a call may grow a list. Without `endSync`, the call fails if the layers of a sync cannot grow. */
interface Growing {
  readonly deadline: number;
  readonly quota?: Quota | undefined;
  readonly endSync?: EndSync;
}

/** A layer that a script needs: the next one of its list, or one whose keys are lost. */
interface Lacking {
  readonly list: RedisList;
  readonly layer: number;
  readonly lost: boolean;
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
    private readonly endSync: EndSync,
  ) {
    this.aged = new AgedCalls(segments, limits);
  }

  async add(call: ChunkCall, payloads?: readonly string[], ttlMs?: number): Promise<Answer> {
    const { filter, positions, chunk, operation } = call;
    const { segment, indexes } = chunk;
    const { quota } = operation;
    const queued = payloads !== undefined;
    const copies = filter.semantics === 'multiset' ? '' : copiesIn(positions, indexes);
    const answer = await this.grown(filter, segment, { ...operation, endSync: this.endSync }, (view) => {
      if (ages(filter)) return this.aged.add(call, view, payloads, ttlMs);
      const own = locate(filter, filter.list, positions, chunk, true);
      const queue = payloads ? [packPayloads(positions, indexes, payloads), filter.maxAttempts ?? 0] : [];
      const head = [indexes.length, valuesOf(filter), copies, own.packed];
      const { sync } = view;
      if (!sync && isPlain(filter)) {
        const script = this.script(`add${queued}`, own.shapes, () => addScript(shapeOf(own), queued));
        return this.segments.changeItems({ ...call, view, script, args: [...head, ...queue] });
      }
      const args = [
        ...[...head, ...(queued ? queue : ['', ''])],
        ...[mayGrow(filter.list), filter.list.shareOf(0)],
      ];
      if (!sync) {
        const script = this.script(`layers-add${queued}`, own.shapes, () =>
          addLayersScript(own.shapes, queued),
        );
        return this.segments.changeItems({
          ...{ ...call, view, script },
          ...{ args: [...args, ...own.args], keys: own.keys },
        });
      }
      const second = locate(filter, sync.list, positions, chunk, false);
      const lists = { own: own.shapes, sync: second.shapes };
      const script = this.synced(`add${queued}`, lists, () => addSyncedScript(lists, queued));
      const more = [mayGrow(sync.list), packHashes(positions, indexes), ...own.args, ...second.args];
      const keys = this.keysOf(view, sync, own, second);
      return this.segments.changeItems({ ...call, view, script, args: [...args, ...more], keys });
    });
    if (filter.list.nearlyFull(segment)) this.growth.ahead(filter, filter.list, quota);
    this.growSync(filter, segment, quota);
    return answer;
  }

  remove(call: ChunkCall): Promise<Answer> {
    const { filter, positions, chunk, operation } = call;
    const { segment, indexes } = chunk;
    const { queued, spread } = filter;
    return this.grown(filter, segment, { deadline: operation.deadline }, (view) => {
      if (ages(filter)) return this.aged.remove(call, view);
      const own = locate(filter, filter.list, positions, chunk, true);
      const { maxMarks } = this.segments.limits;
      const head = [indexes.length, valuesOf(filter), own.packed];
      const hashes = queued ? [packHashes(positions, indexes), maxMarks] : [];
      const { sync } = view;
      if (!sync && isPlain(filter)) {
        const script = this.script(`remove${queued}`, own.shapes, () => removeScript(shapeOf(own), queued));
        return this.segments.changeItems({ ...call, view, script, args: [...head, ...hashes] });
      }
      if (!sync) {
        const script = this.script(`layers-remove${queued}`, own.shapes, () =>
          removeLayersScript(own.shapes, queued),
        );
        const args = [...head, ...(queued ? hashes : ['', '']), ...own.args];
        return this.segments.changeItems({ ...call, view, script, args, keys: own.keys });
      }
      const second = locate(filter, sync.list, positions, chunk, false);
      const lists = { own: own.shapes, sync: second.shapes };
      const script = this.synced(`remove${queued}`, lists, () => removeSyncedScript(lists, queued));
      const most = Math.max(LEAST_NOTED, Math.ceil(this.limits.maxSyncForgets / spread));
      const args = [...head, packHashes(positions, indexes), maxMarks, most, ...own.args, ...second.args];
      const keys = this.keysOf(view, sync, own, second);
      return this.segments.changeItems({ ...call, view, script, args, keys });
    });
  }

  /**
   * Undefined if the segment is not known to take part in the sync, or can note no more removals. `counted`: the items are
   * listed, and not from the queue.
   */
  async keep(call: ChunkCall, id: string, counted: boolean): Promise<Answer | undefined> {
    const { filter, chunk, operation } = call;
    const { segment } = chunk;
    const { quota } = operation;
    const end = { over: false };
    const answer = await this.grown(filter, segment, operation, async (view) => {
      const { sync } = view;
      if (sync?.id !== id) {
        end.over = true;
        return NOTHING;
      }
      const answer = await (ages(filter)
        ? this.aged.keep(call, view, counted)
        : this.keepHere(call, view, sync, counted));
      if ('lack' in answer && answer.lack === 'ended') {
        end.over = true;
        return NOTHING;
      }
      return answer;
    });
    this.growSync(filter, segment, quota);
    return end.over ? undefined : answer;
  }

  private keepHere(
    call: ChunkCall,
    view: SegmentView,
    sync: KnownSync,
    counted: boolean,
  ): Promise<Answer | Lack> {
    const { filter, positions, chunk } = call;
    const { indexes } = chunk;
    const own = locate(filter, filter.list, positions, chunk, true);
    const second = locate(filter, sync.list, positions, chunk, false);
    const lists = { own: own.shapes, sync: second.shapes };
    const script = this.synced('keep', lists, () => keepScript(lists));
    const head = [indexes.length, valuesOf(filter), own.packed, packHashes(positions, indexes)];
    const args = [...head, mayGrow(sync.list), counted ? '1' : '0', ...own.args, ...second.args];
    const keys = this.keysOf(view, sync, own, second);
    return this.segments.changeItems({ ...call, view, script, args, keys });
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
    return this.grown(filter, segment, { deadline }, (view) => {
      if (ages(filter)) return this.aged.read(verb, view, positions, chunk, deadline);
      const own = locate(filter, filter.list, positions, chunk, true);
      const head = [indexes.length, valuesOf(filter), own.packed];
      const { sync } = view;
      if (!sync && isPlain(filter)) {
        const script = this.script(verb, own.shapes, () => plain(shapeOf(own)));
        return this.segments.read(script, view, head, deadline);
      }
      if (!sync) {
        const script = this.script(`layers-${verb}`, own.shapes, () => layers(own.shapes));
        return this.segments.read(script, view, [...head, ...own.args], deadline, own.keys);
      }
      const second = locate(filter, sync.list, positions, chunk, false);
      const lists = { own: own.shapes, sync: second.shapes };
      const script = this.synced(verb, lists, () => synced(lists));
      const args = [...head, ...own.args, ...second.args];
      return this.segments.read(script, view, args, deadline, [...own.keys, ...second.keys]);
    });
  }

  /** 1 for each item that the list of the sync claims; 0 for all if the segment takes no part in one. */
  listed(filter: RedisFilter, positions: Positions, chunk: Chunk, deadline: number): Promise<Answer> {
    const { segment, indexes } = chunk;
    return this.grown(filter, segment, { deadline }, async (view) => {
      const { sync } = view;
      if (!sync) return { ...NOTHING, answers: '0'.repeat(indexes.length) };
      if (ages(filter)) return this.aged.read('listed', view, positions, chunk, deadline);
      const own = locate(filter, filter.list, positions, chunk, true);
      const second = locate(filter, sync.list, positions, chunk, false);
      const lists = { own: own.shapes, sync: second.shapes };
      const script = this.synced('listed', lists, () => listedScript(lists));
      const args = [indexes.length, valuesOf(filter), own.packed, ...own.args, ...second.args];
      return this.segments.read(script, view, args, deadline, [...own.keys, ...second.keys]);
    });
  }

  /**
   * Runs a script until its segment is as it takes it to be, and has the layers that it needs. It may also be that others have
   * made them. What is run again has the same operation and field, so it is done once.
   */
  private async grown(
    filter: RedisFilter,
    segment: number,
    growing: Growing,
    run: (view: SegmentView) => Promise<Answer | Lack>,
  ): Promise<Answer> {
    const { deadline, endSync } = growing;
    for (let view = filter.viewOf(segment); ;) {
      const known = { own: filter.list.made, sync: view.sync?.list.made ?? 0 };
      const answer = await run(view);
      if ('answers' in answer) return answer;
      if (answer.lack === 'view') {
        ({ view } = answer);
        continue;
      }
      if (msUntil(deadline) < 0) {
        throw new StoreError('STORE_UNAVAILABLE', `${called(filter)} could not grow in time`);
      }
      const lacking = layerLacking(view, known, answer);
      try {
        if (lacking) await this.grow(filter, segment, lacking, growing);
      } catch (error) {
        const { sync } = view;
        if (!endSync || !sync || lacking?.list !== sync.list || !lacksRoom(error)) throw error;
        await endSync(filter, sync.id, deadline);
      }
      view = filter.viewOf(segment);
    }
  }

  private async grow(
    filter: RedisFilter,
    segment: number,
    { list, layer, lost }: Lacking,
    { deadline, quota }: Growing,
  ): Promise<void> {
    if (lost) await this.growth.remake(filter, list, segment, layer, deadline);
    else await this.growth.grow(filter, list, layer, quota, deadline);
  }

  private growSync(filter: RedisFilter, segment: number, quota: Quota | undefined): void {
    const list = filter.viewOf(segment).sync?.list;
    if (list?.nearlyFull(segment)) this.growth.ahead(filter, list, quota);
  }

  /** Of a script that changes a segment that takes part in a sync. */
  private keysOf(
    { filter, segment }: SegmentView,
    { list }: KnownSync,
    own: Located,
    second: Located,
  ): string[] {
    return [removedKey(segmentKeysOf(filter, segment), list.base), ...own.keys, ...second.keys];
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

/** The layer that a script lacks. `known`: how many of each list it was told of; the filter's own come first. */
function layerLacking(
  { filter, sync }: SegmentView,
  known: Readonly<Record<'own' | 'sync', number>>,
  answer: Lack,
): Lacking | undefined {
  const lost = answer.lack === 'unmade';
  if (!lost && answer.lack !== 'grow') return undefined;
  const ofSync = lost ? answer.place >= known.own : answer.of === 'sync';
  if (!sync || !ofSync) return { list: filter.list, layer: lost ? answer.place : known.own, lost };
  return { list: sync.list, layer: lost ? answer.place - known.own : known.sync, lost };
}

import { copiesIn, type Positions } from '#bloom';
import { epochMs } from '../../age.js';
import { msUntil } from '../../clock.js';
import { StoreError } from '../../errors.js';
import { called, hidingFull, lacksRoom } from '../../refusals.js';
import type { AddOptions, Operation, Quota } from '../../port/index.js';
import { type RedisFilter, segmentKeysOf, type SegmentView } from '../layout/filter.js';
import type { LayerStack } from '../layout/layer-stack.js';
import type { Growth } from '../catalogue/growth.js';
import { hiddenKey, removedKey } from '../layout/keys.js';
import { type EntryNames, packEntryNames } from '../layout/entry-names.js';
import { type Chunk, packHashes, packHostWords, packNames, packPayloads } from '../layout/packing.js';
import { STORED_PRIORITIES } from '../scripts/queue-state.js';
import type { Answer, Lack, Segments } from '../segments/segments.js';
import type { SyncEnds } from '../segments/sync-ends.js';
import type { ArgValues, Frame, ItemTask, Verb } from './frame.js';
import { locate } from './locate.js';
import { type ItemProgram, itemProgram } from './programs.js';

/** A call that changes a chunk of items, and the field of its record. */
export interface ChunkCall {
  readonly filter: RedisFilter;
  readonly positions: Positions;
  readonly chunk: Chunk;
  readonly operation: Operation;
  readonly field: string;
}

/** A filter's limits over all its segments. */
export interface ItemLimits {
  readonly maxSyncForgets: number;
  readonly maxHidden: number;
}

/** How a call may add layers. If a sync's layers cannot grow, the call fails or, with `endsSync`, abandons the sync. */
interface Growing {
  readonly deadline: number;
  readonly quota?: Quota | undefined;
  readonly endsSync?: boolean;
}

/** A layer that a script needs: the next one, or one whose keys are lost. */
interface Lacking {
  readonly stack: LayerStack;
  readonly layer: number;
  readonly lost: boolean;
}

/** Number of removals that every segment can note during any sync. */
const LEAST_NOTED = 1_000;

/** The answer if a segment takes no part in a sync. */
const NOTHING: Answer = { answers: '', items: 0, sweep: false };

/** A script for a chunk of items, with its keys and arguments. */
interface ProgramCall {
  readonly program: ItemProgram;
  readonly keys: readonly string[];
  readonly args: ReturnType<Frame['pack']>;
}

/** How to call a script on items. */
interface CallDetails {
  /** True if the script changes the queue. */
  readonly queued: boolean;
  /** See ItemTask. */
  readonly visits?: boolean;
  readonly multiset?: boolean;
  readonly named?: boolean;
  readonly values: ArgValues;
}

/** Calls on a chunk of items. Each runs the program for the layers that its segment is known to have. */
export class ItemCalls {
  private readonly programs = new Map<string, ItemProgram>();

  constructor(
    private readonly segments: Segments,
    private readonly growth: Growth,
    private readonly limits: ItemLimits,
    private readonly ends: SyncEnds,
    /** Counts a filter's hidden items in all segments. */
    private readonly hiddenIn: (filter: RedisFilter) => Promise<number>,
  ) {}

  async add(
    call: ChunkCall,
    { payloads, hosts, priority = 'normal', delayMs = 0, ttlMs, onlyAbsent = false }: AddOptions,
  ): Promise<Answer> {
    const { filter, positions, chunk, operation } = call;
    const { segment, indexes } = chunk;
    const { quota } = operation;
    const multiset = filter.semantics === 'multiset' && !onlyAbsent;
    const values = {
      copies: multiset ? 0 : copiesIn(positions, indexes),
      ...(payloads && { payloads: packPayloads(positions, indexes, payloads, hosts !== undefined) }),
      ...(hosts && { names: packNames(positions, indexes, hosts) }),
      attempts: filter.maxAttempts ?? 0,
      priority: STORED_PRIORITIES.indexOf(priority),
      delayMs: Math.ceil(delayMs),
      lives: ttlMs ?? maxAgeMs(filter),
    };
    const visits = filter.queued && payloads === undefined;
    const add = (view: SegmentView, queued: boolean) =>
      this.change('add', call, view, {
        queued,
        visits,
        multiset,
        values: { ...values, ...hostsOf(view, call) },
      });
    const answer = await this.grown(filter, segment, { ...operation, endsSync: true }, async (view) => {
      const added = await add(view, payloads !== undefined || countsKept(view, positions));
      return 'lack' in added && added.lack === 'queue' ? add(view, true) : added;
    });
    if (filter.stack.nearlyFull(segment)) this.growth.ahead(filter, filter.stack, quota);
    this.growSync(filter, segment, quota);
    return answer;
  }

  /** `names`: an entry for each item of the batch. Removes an item only if its entry is still in its place. */
  remove(call: ChunkCall, names?: EntryNames): Promise<Answer> {
    const { filter, chunk, operation } = call;
    const { queued, spread, stack } = filter;
    const { maxSyncForgets, maxHidden } = this.limits;
    // If hosts choose the segments, nearly all of a set's items may be in one segment.
    const noting = stack.isByHost ? maxSyncForgets : Math.ceil(maxSyncForgets / spread);
    const values = {
      maxMarks: this.segments.limits.maxMarks,
      ...(filter.perHost && { hosts: packHostWords(call.positions, chunk.indexes) }),
      ...(names && { entries: packEntryNames(filter, names, chunk.indexes) }),
      maxNoted: Math.max(LEAST_NOTED, noting),
    };
    let most = Math.ceil(maxHidden / spread);
    return this.grown(filter, chunk.segment, { deadline: operation.deadline }, async (view) => {
      for (;;) {
        const answer = await this.change('remove', call, view, {
          queued,
          named: names !== undefined,
          values: { ...values, maxHidden: most },
        });
        if (!('lack' in answer) || answer.lack !== 'full') return answer;
        if (!stack.isByHost) throw hidingFull(filter, answer.hidden, most);
        const hidden = await this.hiddenIn(filter);
        const raised = answer.hidden + maxHidden - hidden;
        if (raised <= most) throw hidingFull(filter, hidden, maxHidden);
        most = raised;
      }
    });
  }

  /**
   * Returns undefined if the segment isn't known to take part in the sync, or can't note any more removals. `counted`:
   * the items count as listed. Otherwise they come from the queue. `hosts`: the names of their hosts.
   */
  async keep(
    call: ChunkCall,
    id: string,
    counted: boolean,
    hosts?: readonly string[],
  ): Promise<Answer | undefined> {
    const { filter, positions, chunk, operation } = call;
    const { segment, indexes } = chunk;
    const lives = maxAgeMs(filter);
    const end = { over: false };
    const answer = await this.grown(filter, segment, operation, async (view) => {
      const { sync } = view;
      if (sync?.id === id) {
        const values = {
          ...{ counted: counted ? '1' : '0', lives, again: sync.openedAt + lives },
          ...hostsOf(view, call),
          ...(hosts && { names: packNames(positions, indexes, hosts) }),
        };
        const answer = await this.change('keep', call, view, { queued: countsKept(view, positions), values });
        if (!('lack' in answer) || answer.lack !== 'ended') return answer;
      }
      end.over = true;
      return NOTHING;
    });
    this.growSync(filter, segment, operation.quota);
    return end.over ? undefined : answer;
  }

  read(
    verb: 'check' | 'count',
    filter: RedisFilter,
    positions: Positions,
    chunk: Chunk,
    deadline: number,
  ): Promise<Answer> {
    return this.grown(filter, chunk.segment, { deadline }, (view) =>
      this.readFrom(verb, view, positions, chunk, deadline),
    );
  }

  /** 1 for each item that the sync's layers claim, otherwise 0. All are 0 if the segment takes part in no sync. */
  listed(filter: RedisFilter, positions: Positions, chunk: Chunk, deadline: number): Promise<Answer> {
    const none = { ...NOTHING, answers: '0'.repeat(chunk.indexes.length) };
    return this.grown(filter, chunk.segment, { deadline }, async (view) =>
      view.sync ? this.readFrom('listed', view, positions, chunk, deadline) : none,
    );
  }

  private change(
    verb: 'add' | 'remove' | 'keep',
    call: ChunkCall,
    view: SegmentView,
    details: CallDetails,
  ): Promise<Answer | Lack> {
    const { program, keys, args } = this.callOf(verb, view, call.positions, call.chunk, details);
    return this.segments.changeItems({ ...call, view, script: program.script, args, keys });
  }

  private readFrom(
    verb: 'check' | 'count' | 'listed',
    view: SegmentView,
    positions: Positions,
    chunk: Chunk,
    deadline: number,
  ): Promise<Answer | Lack> {
    const { program, keys, args } = this.callOf(verb, view, positions, chunk, { queued: false, values: {} });
    return this.segments.read(program.script, view, args, deadline, keys);
  }

  private callOf(
    verb: Verb,
    view: SegmentView,
    positions: Positions,
    chunk: Chunk,
    { queued, visits = false, multiset = false, named = false, values }: CallDetails,
  ): ProgramCall {
    const { filter, sync } = view;
    const { stack } = filter;
    const { indexes } = chunk;
    const segmentKeys = segmentKeysOf(filter, chunk.segment);
    const { stacks, keys, values: layers } = locate(view, segmentKeys, positions, chunk);
    const ages = filter.maxAgeSeconds !== undefined;
    const hosts = queued && filter.perHost !== undefined;
    const program = this.program({
      verb,
      stacks,
      ages,
      queued,
      hosts,
      multiset,
      // In a set that ages, visits void no entries.
      ...(visits && (hosts || !ages) && { visits }),
      ...(named && { named }),
    });
    const { frame } = program;
    const all: ArgValues = {
      count: indexes.length,
      values: 2 ** filter.geometry.cellBits,
      epochMs: ages ? epochMs(filter.maxAgeSeconds) : '',
      grows: mayGrow(stack),
      ...(sync && { syncGrows: mayGrow(sync.stack) }),
      ...(frame.needs('hashes') && { hashes: packHashes(positions, indexes) }),
      ...values,
    };
    const bases = sync ? [filter.base, sync.stack.base] : [filter.base];
    const hidden = ages ? bases.map((base) => hiddenKey(segmentKeys, base)) : [];
    const removed = sync && frame.changes ? [removedKey(segmentKeys, sync.stack.base)] : [];
    return { program, keys: [...hidden, ...removed, ...keys], args: frame.pack(all, layers) };
  }

  private program(task: ItemTask): ItemProgram {
    const key = JSON.stringify(task);
    let program = this.programs.get(key);
    if (!program) this.programs.set(key, (program = itemProgram(task)));
    return program;
  }

  /**
   * Runs a script until its view of the segment is right and the segment has the layers it needs. This call creates the
   * missing layers, unless another call has. All runs have the same operation and field, so the change happens once.
   */
  private async grown(
    filter: RedisFilter,
    segment: number,
    growing: Growing,
    run: (view: SegmentView) => Promise<Answer | Lack>,
  ): Promise<Answer> {
    const { deadline, endsSync } = growing;
    for (let view = filter.viewOf(segment); ;) {
      const known = { own: filter.stack.made, sync: view.sync?.stack.made ?? 0 };
      const answer = await run(view);
      if ('answers' in answer) return answer;
      if (answer.lack === 'view') {
        ({ view } = answer);
        continue;
      }
      if (msUntil(deadline) < 0) {
        throw new StoreError('STORE_UNAVAILABLE', `${called(filter)} did not grow in time; retry`);
      }
      const lacking = layerLacking(view, known, answer);
      try {
        if (lacking) await this.grow(filter, segment, lacking, growing);
      } catch (error) {
        const { sync } = view;
        if (!endsSync || !sync || lacking?.stack !== sync.stack || !lacksRoom(error)) throw error;
        await this.ends.abandonFull(filter, sync.id, deadline);
      }
      view = filter.viewOf(segment);
    }
  }

  private async grow(
    filter: RedisFilter,
    segment: number,
    { stack, layer, lost }: Lacking,
    { deadline, quota }: Growing,
  ): Promise<void> {
    if (lost) await this.growth.remake(filter, stack, segment, layer, deadline);
    else await this.growth.grow(filter, stack, layer, quota, deadline);
  }

  private growSync(filter: RedisFilter, segment: number, quota: Quota | undefined): void {
    const stack = filter.viewOf(segment).sync?.stack;
    if (stack?.nearlyFull(segment)) this.growth.ahead(filter, stack, quota);
  }
}

/** True if the queue counts, by host, the URLs added to the layers of the segment's sync. */
const countsKept = ({ filter, sync }: SegmentView, { host }: Positions): boolean =>
  sync !== undefined && host !== undefined && filter.perHost?.maxUrls !== undefined;

/** The hosts of a call's items, if a script counts the URLs that the sync's layers get. */
const hostsOf = (view: SegmentView, { positions, chunk }: ChunkCall): ArgValues =>
  countsKept(view, positions) ? { hosts: packHostWords(positions, chunk.indexes) } : {};

const maxAgeMs = ({ maxAgeSeconds = 0 }: RedisFilter) => maxAgeSeconds * 1_000;

const mayGrow = ({ made, plan }: LayerStack) => (made < plan.length ? '1' : '0');

/** The layer that a script lacks. `known`: how many own and sync layers it was given. The own layers come first. */
function layerLacking(
  { filter, sync }: SegmentView,
  known: Readonly<Record<'own' | 'sync', number>>,
  answer: Lack,
): Lacking | undefined {
  const lost = answer.lack === 'unmade';
  if (!lost && answer.lack !== 'grow') return undefined;
  const ofSync = lost ? answer.place >= known.own : answer.of === 'sync';
  if (!sync || !ofSync) return { stack: filter.stack, layer: lost ? answer.place : known.own, lost };
  return { stack: sync.stack, layer: lost ? answer.place - known.own : known.sync, lost };
}

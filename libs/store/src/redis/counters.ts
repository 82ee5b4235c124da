import { type Geometry, type Positions } from '#bloom';
import { joinAll } from '../join-all.js';
import { assertCounting, assertPayloads, full } from '../refusals.js';
import type { Counters, Filter, Operation } from '../store.js';
import { RedisFilter } from './filter.js';
import type { LayeredCalls } from './layered-calls.js';
import {
  type Chunk,
  dealChunks,
  isWide,
  itemsPerRead,
  packHashes,
  packItems,
  packPayloads,
} from './packing.js';
import type { Answer, Segments } from './segments.js';
import { addScript, checkScript, countScript, removeScript } from './scripts/items.js';
import type { Script } from './scripts/script.js';

/** How long the last item count seen by this process is relied on for the limit on items, in ms. */
const ITEMS_SEEN_FOR_MS = 1000;

/**
 * Entries that a sweep looks at for each item that is removed while it is under way: it has ended before there are as many new
 * marks as when it began, an eighth of the entries.
 */
const SWEPT_PER_REMOVAL = 8;
const SWEPT_PER_SCRIPT = 250;

export class RedisCounters implements Counters {
  private readonly scripts = new Map<string, Script>();

  constructor(
    private readonly segments: Segments,
    private readonly layered: LayeredCalls,
    private readonly countItems: (filter: RedisFilter) => Promise<void>,
  ) {}

  async add(
    handle: Filter,
    positions: Positions,
    operation: Operation,
    payloads?: readonly string[],
  ): Promise<Uint8Array> {
    const filter = RedisFilter.of(handle);
    if (payloads) assertPayloads(filter, payloads, positions.count);
    const { geometry } = filter;
    await this.segments.begin(filter, operation, 'add');
    await this.refuseOverfull(filter, positions, operation);
    const queued = payloads !== undefined;
    const script = this.script(`add${queued}`, geometry, () => addScript(shapeOf(geometry), queued));
    const multiset = filter.semantics === 'multiset' ? '1' : '0';
    return this.perChunk(filter, positions, filter.itemsPerScript, (chunk) => {
      const { segment, number, indexes } = chunk;
      const field = addField(operation, number);
      if (filter.layers) {
        return this.layered.add(filter, positions, chunk, operation, field, payloads);
      }
      const packed = packItems(positions, indexes, geometry);
      const queue = payloads ? [packPayloads(positions, indexes, payloads), filter.maxAttempts ?? 0] : [];
      const args = [indexes.length, 2 ** geometry.cellBits, multiset, packed, ...queue];
      return this.segments.change({ script, filter, segment, operation, field, args });
    });
  }

  async remove(handle: Filter, positions: Positions, operation: Operation): Promise<Uint8Array> {
    const filter = RedisFilter.of(handle);
    assertCounting(filter);
    const { geometry, queued } = filter;
    await this.segments.begin(filter, operation, 'remove');
    const script = this.script(`remove${queued}`, geometry, () => removeScript(shapeOf(geometry), queued));
    const run = (chunk: Chunk, field: string): Promise<Answer> => {
      if (filter.layers) return this.layered.remove(filter, positions, chunk, operation, field);
      const { segment, indexes } = chunk;
      const packed = packItems(positions, indexes, geometry);
      const queue = queued ? [packHashes(positions, indexes), this.segments.limits.maxMarks] : [];
      const args = [indexes.length, 2 ** geometry.cellBits, packed, ...queue];
      return this.segments.change({ script, filter, segment, operation, field, args });
    };
    return this.perChunk(filter, positions, filter.itemsPerScript, async (chunk) => {
      const answer = await run(chunk, `remove:${operation.id}:${chunk.number}`);
      if (answer.sweep) await this.sweep(filter, chunk.segment, chunk.indexes.length, operation.deadline);
      return answer;
    });
  }

  /** Takes a sweep on by as much as these removals owe it. */
  private async sweep(
    filter: RedisFilter,
    segment: number,
    removals: number,
    deadline: number,
  ): Promise<void> {
    let left = removals * SWEPT_PER_REMOVAL;
    for (let more = true; more && left > 0; left -= SWEPT_PER_SCRIPT) {
      more = await this.segments.sweep(filter, segment, SWEPT_PER_SCRIPT, deadline);
    }
  }

  check(handle: Filter, positions: Positions, deadline: number): Promise<Uint8Array> {
    return this.read('check', RedisFilter.of(handle), positions, deadline);
  }

  async count(handle: Filter, positions: Positions, deadline: number): Promise<Uint8Array> {
    assertCounting(handle);
    return this.read('count', RedisFilter.of(handle), positions, deadline);
  }

  private read(
    verb: keyof typeof READS,
    filter: RedisFilter,
    positions: Positions,
    deadline: number,
  ): Promise<Uint8Array> {
    const { geometry } = filter;
    const script = this.script(verb, geometry, () => READS[verb](shapeOf(geometry)));
    const size = itemsPerRead(
      (filter.layers ?? [filter]).slice(0, filter.made).map((layer) => layer.geometry),
    );
    return this.perChunk(filter, positions, size, (chunk) => {
      if (filter.layers) return this.layered.read(verb, filter, positions, chunk, deadline);
      const { segment, indexes } = chunk;
      const args = [indexes.length, 2 ** geometry.cellBits, packItems(positions, indexes, geometry)];
      return this.segments.read(script, filter, segment, args, deadline);
    });
  }

  /**
   * Runs a batch in chunks of at most `size` items. The chunks of a segment run one after the other, those of several
   * segments at once. Answers are in the order of the batch.
   */
  private async perChunk(
    filter: RedisFilter,
    positions: Positions,
    size: number,
    run: (chunk: Chunk) => Promise<Answer>,
  ): Promise<Uint8Array> {
    const { geometry } = filter;
    const results = new Uint8Array(positions.count);
    const dealt = dealChunks(positions.segment, geometry.segments, size);
    await joinAll(
      dealt.map(async (chunks) => {
        for (const chunk of chunks) {
          const { answers } = await run(chunk);
          if (answers.length !== chunk.indexes.length) {
            throw new Error(`a script answered ${answers.length} items, not ${chunk.indexes.length}`);
          }
          chunk.indexes.forEach((index, n) => (results[index] = answers.charCodeAt(n) - 48));
        }
      }),
    );
    return results;
  }

  /**
   * Throws FILTER_FULL if the filter has not so much room, unless an earlier try has begun to add the batch.
   */
  private async refuseOverfull(
    filter: RedisFilter,
    positions: Positions,
    operation: Operation,
  ): Promise<void> {
    if (Date.now() - filter.itemsSeenAt > ITEMS_SEEN_FOR_MS) {
      await this.countItems(filter);
      filter.itemsSeenAt = Date.now();
    }
    if (positions.count <= filter.room) return;
    // Only items that are absent count, each once.
    const present = await this.check(filter, positions, operation.deadline);
    const absent = new Set<string>();
    present.forEach((answer, i) => {
      if (answer === 0) absent.add(positions.hash.subarray(i * 4, i * 4 + 4).join());
    });
    if (absent.size > filter.room && !(await this.wasBegun(filter, positions, operation))) {
      throw full(filter, filter.items, absent.size);
    }
  }

  /**
   * Whether an earlier try has added anything, and so passed the limit; then this one has to finish it. The chunks of a
   * segment run in order, so the first one has the first record there. Every segment is asked, because the earlier try
   * may have reached only one of them.
   */
  private async wasBegun(filter: RedisFilter, positions: Positions, operation: Operation): Promise<boolean> {
    if (!operation.repeat) return false;
    const field = addField(operation, 0);
    const begun = await joinAll(
      Array.from(new Set(positions.segment), (segment) =>
        this.segments.recalls({ filter, segment, operation, field }),
      ),
    );
    return begun.includes(true);
  }

  private script(verb: string, geometry: Geometry, make: () => Script): Script {
    const key = `${verb}:${geometry.hashes}:${isWide(geometry)}`;
    let script = this.scripts.get(key);
    if (!script) this.scripts.set(key, (script = make()));
    return script;
  }
}

const READS = { check: checkScript, count: countScript } as const;

const shapeOf = (geometry: Geometry) => ({ hashes: geometry.hashes, wide: isWide(geometry) });

const addField = (operation: Operation, chunk: number) => `add:${operation.id}:${chunk}`;

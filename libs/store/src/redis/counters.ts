import { type Geometry, type Positions } from '#bloom';
import { joinAll } from '../join-all.js';
import { assertCounting, assertPayloads, full } from '../refusals.js';
import type { Counters, Filter, Operation } from '../store.js';
import { RedisFilter } from './filter.js';
import { type Chunk, dealChunks, isWide, packHashes, packItems, packPayloads } from './packing.js';
import type { Answer, Segments } from './segments.js';
import { addScript, checkScript, countScript, removeScript } from './scripts/items.js';
import type { Script } from './scripts/script.js';

/** How long the last item count seen by this process is relied on for the limit on items, in ms. */
const ITEMS_SEEN_FOR_MS = 1000;

/** Reads of items that take as long as one add of a new item: measured 2.0 to 2.2. */
const READS_PER_CHANGE = 2;

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
    return this.perChunk(filter, positions, filter.itemsPerScript, ({ segment, number, indexes }) => {
      const packed = packItems(positions, indexes, geometry);
      const queue = payloads ? [packPayloads(positions, indexes, payloads), filter.maxAttempts ?? 0] : [];
      const args = [indexes.length, 2 ** geometry.cellBits, multiset, packed, ...queue];
      return this.segments.change({
        script,
        filter,
        segment,
        operation,
        field: addField(operation, number),
        args,
      });
    });
  }

  async remove(handle: Filter, positions: Positions, operation: Operation): Promise<Uint8Array> {
    const filter = RedisFilter.of(handle);
    assertCounting(filter);
    const { geometry, queued } = filter;
    await this.segments.begin(filter, operation, 'remove');
    const script = this.script(`remove${queued}`, geometry, () => removeScript(shapeOf(geometry), queued));
    return this.perChunk(filter, positions, filter.itemsPerScript, async ({ segment, number, indexes }) => {
      const packed = packItems(positions, indexes, geometry);
      const queue = queued ? [packHashes(positions, indexes), this.segments.limits.maxMarks] : [];
      const args = [indexes.length, 2 ** geometry.cellBits, packed, ...queue];
      const field = `remove:${operation.id}:${number}`;
      const answer = await this.segments.change({ script, filter, segment, operation, field, args });
      if (answer.sweep) await this.sweep(filter, segment, indexes.length, operation.deadline);
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
    return this.read('check', checkScript, RedisFilter.of(handle), positions, deadline);
  }

  async count(handle: Filter, positions: Positions, deadline: number): Promise<Uint8Array> {
    assertCounting(handle);
    return this.read('count', countScript, RedisFilter.of(handle), positions, deadline);
  }

  private read(
    verb: string,
    make: typeof checkScript,
    filter: RedisFilter,
    positions: Positions,
    deadline: number,
  ): Promise<Uint8Array> {
    const { geometry } = filter;
    const script = this.script(verb, geometry, () => make(shapeOf(geometry)));
    const size = READS_PER_CHANGE * filter.itemsPerScript;
    return this.perChunk(filter, positions, size, (chunk) =>
      this.segments.read(
        script,
        filter,
        chunk.segment,
        [chunk.indexes.length, 2 ** geometry.cellBits, packItems(positions, chunk.indexes, geometry)],
        deadline,
      ),
    );
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
   * Throws FILTER_FULL if the batch would bring the filter above twice its capacity, unless an earlier try has begun to
   * add it.
   */
  private async refuseOverfull(
    filter: RedisFilter,
    positions: Positions,
    operation: Operation,
  ): Promise<void> {
    const limit = 2 * filter.capacity;
    if (Date.now() - filter.itemsSeenAt > ITEMS_SEEN_FOR_MS) {
      await this.countItems(filter);
      filter.itemsSeenAt = Date.now();
    }
    const items = filter.itemsSeen.reduce((sum, n) => sum + n, 0);
    if (items + positions.count <= limit) return;
    // Only items that are absent count, each once.
    const present = await this.check(filter, positions, operation.deadline);
    const absent = new Set<string>();
    present.forEach((answer, i) => {
      if (answer === 0) absent.add(positions.hash.subarray(i * 4, i * 4 + 4).join());
    });
    if (items + absent.size > limit && !(await this.wasBegun(filter, positions, operation))) {
      throw full(filter, items, absent.size);
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

const shapeOf = (geometry: Geometry) => ({ hashes: geometry.hashes, wide: isWide(geometry) });

const addField = (operation: Operation, chunk: number) => `add:${operation.id}:${chunk}`;

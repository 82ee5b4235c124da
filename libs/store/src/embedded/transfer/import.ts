import { setImmediate } from 'node:timers/promises';
import { filterBytes, segmentsPerRun } from '#bloom';
import { CYCLE } from '../../age.js';
import { StoreError } from '../../errors.js';
import { assertEntryHosts, importHides, importHosts, taken } from '../../refusals.js';
import { hashesOf } from '../../queued-hashes.js';
import { countCells } from '../../transfer/cell-counts.js';
import type { Filter, FilterSpec, HiddenItem, Operation, Part, Quota } from '../../port/index.js';
import { encodeBlock } from '../journal/block.js';
import { allocateSegment, assertAvailable } from '../layers/cell-memory.js';
import type { Engine } from '../engine/engine.js';
import { FilterState } from '../filters/filter-state.js';
import { newGeneration, publishState } from '../catalogue/generation.js';
import { writeHidden } from '../filters/hidden-rows.js';
import { blockKey, numberKey } from '../database/keys.js';
import type { LayerState } from '../layers/layer-state.js';
import { TodoQueue } from '../queue/todo-queue.js';
import { Room } from '../catalogue/room.js';
import type { Session } from '../engine/session.js';
import type { Sizes } from '../database/sizes.js';
import { IMPORT } from '../operations/verbs.js';

/** See Transfer.import. */
export async function importParts(
  engine: Engine,
  spec: FilterSpec,
  parts: AsyncIterable<Part>,
  operation: Operation,
  quota?: Quota,
): Promise<Filter> {
  const room = new Room(spec, quota);
  try {
    return await importIn(room, engine, spec, parts, operation);
  } finally {
    room.leave();
  }
}

async function importIn(
  room: Room,
  engine: Engine,
  spec: FilterSpec,
  parts: AsyncIterable<Part>,
  operation: Operation,
): Promise<Filter> {
  const { session, known } = await engine.mutate((session) => {
    const identity = { scope: session.memory.names, verb: IMPORT, operation, subject: spec.name };
    const known = session.recall(identity);
    if (!known) {
      refuseTaken(session, spec);
      room.take(session.memory);
    }
    return { session, known };
  });
  if (known) return known.answer;
  assertAvailable(filterBytes(spec.geometry));
  const making = new Making(engine, session, room, spec, operation);
  try {
    for await (const part of parts) await making.take(part);
    return await making.publish();
  } finally {
    await making.end();
  }
}

function refuseTaken({ memory }: Session, { name }: FilterSpec): void {
  const existing = memory.filters.get(name)?.filter;
  if (existing) throw taken(existing);
}

/**
 * A filter that is being imported under a generation that isn't in the catalogue yet. Writes blocks and queue entries
 * as they arrive. If the filter is not published, this data is deleted immediately or, after a crash, at the next
 * start.
 */
class Making {
  private readonly state: FilterState;
  private readonly sizes: Sizes;
  /** For each layer, its segments' cells. */
  private readonly cells: Uint8Array[][] = [[]];
  /** For each layer, its runs' non-zero cells. */
  private readonly nonZeroCells: number[][] = [];
  /** How many bytes of the current segment have arrived. */
  private filled = 0;
  private blocks = 0;
  private published = false;

  constructor(
    private readonly engine: Engine,
    private readonly session: Session,
    private readonly room: Room,
    spec: FilterSpec,
    private readonly operation: Operation,
  ) {
    const filter = newGeneration(session, spec, spec.seed);
    this.sizes = session.database.sizes;
    this.state = new FilterState(filter, this.cells[0] as Uint8Array[], session.now, this.sizes);
    this.state.tick(session.now);
  }

  async take(part: Part): Promise<void> {
    switch (part.type) {
      case 'queue':
        assertEntryHosts(this.state.filter, part.entries);
        for (let at = 0; at < part.entries.length; at += this.sizes.entriesPerSlice) {
          const slice = part.entries.slice(at, at + this.sizes.entriesPerSlice);
          await this.queue((queue) => queue.restore(slice));
        }
        for (let at = 0; at < (part.hosts?.length ?? 0); at += this.sizes.hostsPerChange) {
          const slice = part.hosts?.slice(at, at + this.sizes.hostsPerChange) ?? [];
          await this.queue((queue) => queue.restoreHosts(slice));
        }
        break;
      case 'hidden':
        await this.write((session) => this.hide(session, part.items));
        break;
      case 'cells': {
        const layer = this.state.stack.layers[part.layer] ?? (await this.openLayer(part.layer));
        layer.tally.nonZeroCells += part.nonZero;
        layer.tally.saturatedCells += part.saturated;
        this.countInRun(layer, part);
        await this.takeCells(layer, part.segment, part.cells);
        break;
      }
      case 'counts': {
        const { added, duplicate, removed, refused } = part.counts;
        Object.assign(this.state.tally, { added, duplicate, removed, refused });
        if (this.state.stack.age) this.bringTogether();
        else
          for (const layer of this.state.stack.layers) {
            layer.tally.items = part.layerItems[layer.number] ?? 0;
            layer.splitItems(this.nonZeroCells[layer.number] ?? []);
          }
      }
    }
  }

  private async queue(change: (queue: TodoQueue) => void): Promise<void> {
    const { filter, queue: numbers } = this.state;
    await this.write((session) => {
      const queue = new TodoQueue(session, this.state);
      change(queue);
      queue.flush();
    });
    if (numbers.lanes > this.sizes.maxHosts) throw importHosts(filter, numbers.lanes, this.sizes.maxHosts);
  }

  private countInRun({ number, plan, expiringIn }: LayerState, part: Extract<Part, { type: 'cells' }>): void {
    const run = Math.floor(part.segment / segmentsPerRun(plan.geometry));
    const counts = (this.nonZeroCells[number] ??= []);
    counts[run] = (counts[run] ?? 0) + part.nonZero;
    expiringIn?.[run]?.countPages(part.cells, plan.geometry);
  }

  /** Makes the filter visible, unless its name has been taken since the import began. */
  async publish(): Promise<Filter> {
    const { operation, state } = this;
    const { name } = state.filter;
    await this.fillUp();
    return this.write((session) => {
      const filter = session.once(
        { scope: session.memory.names, verb: IMPORT, operation, subject: name },
        () => {
          refuseTaken(session, state.filter);
          const apply = (): void => {
            session.database.blockCounts.putSync(state.key, numberKey(this.blocks));
            publishState(session, state);
          };
          return { answer: state.filter, apply };
        },
      );
      this.published = filter === state.filter;
      return filter;
    });
  }

  /** Hides items, except those whose last epoch of hiding has passed here. */
  private hide(session: Session, items: readonly HiddenItem[]): void {
    const { age } = this.state.stack;
    if (!age) throw new RangeError(`filter ${this.state.filter.name} does not age`);
    this.state.tick(session.now);
    const hashes = hashesOf(items);
    for (const [n, { until }] of items.entries()) {
      // An item can't be hidden for more epochs than a cell can distinguish.
      const left = Math.min(until - age.epoch, CYCLE - 1);
      if (left >= 0) age.hidden.hide(hashes, 4 * n, left);
    }
    if (age.hidden.size > session.options.maxHidden)
      throw importHides(this.state.filter, age.hidden.size, session.options.maxHidden);
    writeHidden(session, this.state);
  }

  /**
   * Brings all layers of a filter that ages to the same epoch, because a clock that was ahead may have stamped some
   * pages.
   */
  private bringTogether(): void {
    const { stack } = this.state;
    stack.advance(Math.max(...stack.layers.map(({ expiring }) => expiring?.epoch ?? 0)));
  }

  /** Allocates cells for segments in which a layer was not open yet. */
  private async fillUp(): Promise<void> {
    for (const { number, plan } of this.state.stack.layers) {
      const cells = this.cells[number] as Uint8Array[];
      for (let segment = 0; segment < plan.geometry.segments; segment++) {
        if (cells[segment]) continue;
        cells[segment] = allocateSegment(plan.geometry);
        await setImmediate();
      }
    }
  }

  /** Deletes the data if the filter was not published. */
  async end(): Promise<void> {
    if (this.published) return;
    // If this also fails, the next start deletes the data.
    await this.write(({ purger }) => purger.generation(this.state.key), false).catch(() => undefined);
  }

  /** Opens the next layer, which counts towards the quota like a new filter. */
  private async openLayer(number: number): Promise<LayerState> {
    const { next, layers } = this.state.stack;
    if (!next || number !== layers.length) throw new RangeError(`an import has no layer ${number} now`);
    const bytes = filterBytes(next.geometry);
    await this.write(({ memory }) => this.room.grow(memory, bytes));
    assertAvailable(bytes);
    return this.state.stack.grow((this.cells[number] = []));
  }

  private async takeCells(layer: LayerState, segment: number, cells: Uint8Array): Promise<void> {
    // Allocates each segment's memory when its data arrives, because the header may claim any size.
    const bytes = ((this.cells[layer.number] as Uint8Array[])[segment] ??= allocateSegment(
      layer.plan.geometry,
    ));
    bytes.set(cells, this.filled);
    layer.expiring?.countPages(cells, layer.plan.geometry);
    this.filled += cells.length;
    if (this.filled < bytes.length) return;
    this.filled = 0;
    const { blocksPerSegment } = layer;
    const end = (segment + 1) * blocksPerSegment;
    const { blocksPerSlice } = this.sizes;
    for (let from = segment * blocksPerSegment; from < end; from += blocksPerSlice) {
      await this.write((session) =>
        this.writeBlocks(session, layer, from, Math.min(from + blocksPerSlice, end)),
      );
    }
  }

  /** Like a checkpoint, stores no blocks of zeros. */
  private writeBlocks({ database, memory }: Session, layer: LayerState, from: number, end: number): void {
    for (let index = from; index < end; index++) {
      const cells = layer.block(index);
      if (countCells(cells, layer.plan.geometry).nonZero === 0) continue;
      const key = blockKey(this.state.key, layer.number, index);
      database.blocks.putSync(key, encodeBlock(memory.sequence, cells));
      layer.written[index] = 1;
      this.blocks++;
    }
  }

  /** Runs a change. After a failed commit it throws, because the reload deletes data outside the catalogue. */
  private write<T>(change: (session: Session) => T, grows = true): Promise<T> {
    return this.engine.mutate(
      (session) => {
        if (session !== this.session) {
          throw new StoreError('STORE_UNAVAILABLE', 'a write to the data directory failed during the import');
        }
        return change(session);
      },
      { grows },
    );
  }
}

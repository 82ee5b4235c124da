import { setImmediate } from 'node:timers/promises';
import type { Commits } from '../journal/commits.js';
import type { Database } from '../database/database.js';
import type { Table } from '../database/table.js';
import {
  blockKey,
  GENERATION_BYTES,
  hiddenBefore,
  type KeyRange,
  numberedKey,
  prefixRange,
  stackPrefix,
} from '../database/keys.js';
import type { FilterState } from '../filters/filter-state.js';
import { syncRows } from '../filters/sync-rows.js';
import type { Memory } from '../filters/memory.js';
import { outdatedRecords } from '../operations/operation-records.js';

/** Deletes unreferenced data in the background, one slice per transaction. */
export class Purger {
  private readonly due: { table: Table; range: KeyRange }[] = [];
  private running: Promise<void> | undefined;
  private stopped = false;

  constructor(
    private readonly database: Database,
    private readonly commits: Commits,
  ) {}

  /** Deletes all data of a generation that is no longer in the catalogue. */
  generation(key: Buffer): void {
    for (const table of this.database.tablesByGeneration) this.range(table, prefixRange(key));
  }

  records(range: KeyRange): void {
    this.range(this.database.records, range);
  }

  /** Deletes a queue's marks that are no longer needed. */
  marks({ key, queue }: FilterState): void {
    this.range(this.database.marks, { start: key, end: numberedKey(key, queue.firstMark) });
  }

  /** Deletes the blocks of the layers from number `from` up to, but not including, `end`. */
  layers({ key }: FilterState, from: number, end: number): void {
    this.range(this.database.blocks, { start: blockKey(key, from, 0), end: blockKey(key, end, 0) });
  }

  /** Deletes the rows of an ended sync. `base` is the number of its first layer. */
  syncRows(state: FilterState, base: number): void {
    this.range(this.database.removed, syncRows(state, base));
  }

  /** Deletes items that stopped being hidden before `epoch`. `base` is the number of their first layer. */
  hidden({ key }: FilterState, base: number, epoch: number): void {
    this.range(this.database.hidden, { start: stackPrefix(key, base), end: hiddenBefore(key, base, epoch) });
  }

  /** Deletes all hidden items of the layers from number `from` up to, but not including, `end`. */
  hiddenOf({ key }: FilterState, from: number, end: number): void {
    this.range(this.database.hidden, { start: stackPrefix(key, from), end: stackPrefix(key, end) });
  }

  /**
   * Deletes everything that a crash left behind: generations that aren't in the catalogue, data from ended syncs, marks
   * that are no longer needed, and records older than the windows.
   */
  leftovers(memory: Memory): void {
    const states = [...memory.filters.values()];
    const known = new Set([memory.names, ...states].map(({ key }) => key.toString('hex')));
    for (const table of this.database.tablesByGeneration) {
      for (const key of generationsIn(table)) {
        if (!known.has(key.toString('hex'))) this.range(table, prefixRange(key));
      }
    }
    for (const state of states) {
      for (const [from, end] of retiredLayers(state)) {
        const range = { start: blockKey(state.key, from, 0), end: blockKey(state.key, end, 0) };
        if (firstKey(this.database.blocks, range)) this.layers(state, from, end);
        const hidden = { start: stackPrefix(state.key, from), end: stackPrefix(state.key, end) };
        if (firstKey(this.database.hidden, hidden)) this.hiddenOf(state, from, end);
      }
      for (const range of rowsOfEndedSyncs(state))
        if (firstKey(this.database.removed, range)) this.range(this.database.removed, range);
      const end = numberedKey(state.key, state.queue.firstMark);
      if (firstKey(this.database.marks, { start: state.key, end })) this.marks(state);
    }
    for (const scope of [memory.names, ...states]) {
      for (const range of [outdatedRecords(scope, 'caller'), outdatedRecords(scope, 'made')]) {
        if (firstKey(this.database.records, range)) this.records(range);
      }
    }
  }

  /** Stops after the current slice. The next start finds the rest again. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  private range(table: Table, range: KeyRange): void {
    this.due.push({ table, range });
    this.running ??= this.run().finally(() => {
      this.running = undefined;
    });
  }

  private async run(): Promise<void> {
    // The caller is inside a transaction, where no other transaction may begin.
    await setImmediate();
    const most = this.database.sizes.purgedPerSlice;
    try {
      for (let next = this.due[0]; next && !this.stopped; next = this.due[0]) {
        const { table, range } = next;
        const removed = await this.commits.run(() => removeSlice(table, range, most));
        if (removed < most) this.due.shift();
      }
    } catch {
      // A commit failed. After the reload, the rest is found again.
      this.due.length = 0;
    }
  }
}

/** Ranges of layer numbers that ended syncs left behind. */
function retiredLayers({ stacks, nextLayer }: FilterState): [from: number, end: number][] {
  const retired: [number, number][] = [];
  let from = 0;
  for (const { base, end } of stacks) {
    if (base > from) retired.push([from, base]);
    from = end;
  }
  if (nextLayer > from) retired.push([from, nextLayer]);
  return retired;
}

/** The rows of ended syncs, except those that the last commit still needs (see removeUnkept). */
function rowsOfEndedSyncs({ key, queue, stack, sync, nextLayer }: FilterState): KeyRange[] {
  const end = stackPrefix(key, sync?.opened.base ?? nextLayer);
  if (queue.unkeptUntil === 0) return [{ start: key, end }];
  return [
    { start: key, end: stackPrefix(key, stack.base) },
    { start: stackPrefix(key, stack.base + 1), end },
  ];
}

function removeSlice(table: Table, range: KeyRange, limit: number): number {
  const keys = Array.from(table.getKeys({ ...range, limit }));
  for (const key of keys) table.removeSync(key);
  return keys.length;
}

function firstKey(table: Table, range: KeyRange): Buffer | undefined {
  return Array.from(table.getKeys({ ...range, limit: 1 }))[0];
}

/** The distinct generations in the keys of a table. It skips from one generation to the next. */
function generationsIn(table: Table): Buffer[] {
  const found: Buffer[] = [];
  let start: Buffer | undefined = Buffer.alloc(1);
  while (start) {
    const key = firstKey(table, { start });
    if (!key) break;
    const generation: Buffer = Buffer.from(key.subarray(0, GENERATION_BYTES));
    found.push(generation);
    start = prefixRange(generation).end;
  }
  return found;
}

import { cellCount, positionsOf, type Geometry } from '#bloom';
import { Added, Removed, type Filter } from '#store';

/**
 * A counting filter in its simplest form, with one byte per counter. For sequential calls it gives the results of a
 * store, item by item, and then the contents of its segments.
 */
export class CounterModel {
  readonly cells: Uint8Array;
  readonly tally = { items: 0, added: 0, duplicate: 0, removed: 0, refused: 0 };
  private readonly geometry: Geometry;

  constructor(private readonly filter: Filter) {
    this.geometry = filter.geometry;
    this.cells = new Uint8Array(cellCount(filter.geometry));
  }

  add(keys: readonly string[]): number[] {
    return this.each(keys, (cells) => {
      const isNew = cells.some((c) => this.cells[c] === 0);
      if (isNew || this.filter.semantics === 'multiset') {
        for (const c of cells) this.cells[c] = Math.min(15, (this.cells[c] as number) + 1);
      }
      if (!isNew) return this.tallied('duplicate', Added.Present);
      this.tally.items++;
      return this.tallied('added', Added.New);
    });
  }

  remove(keys: readonly string[]): number[] {
    return this.each(keys, (cells) => {
      if (cells.some((c) => this.cells[c] === 0)) return this.tallied('refused', Removed.Absent);
      const moving = cells.filter((c) => this.cells[c] !== 15);
      if (moving.length === 0) return this.tallied('refused', Removed.Saturated);
      for (const c of moving) this.cells[c] = (this.cells[c] as number) - 1;
      if (moving.some((c) => this.cells[c] === 0)) this.tally.items--;
      return this.tallied('removed', Removed.Removed);
    });
  }

  count(keys: readonly string[]): number[] {
    return this.each(keys, (cells) => Math.min(...cells.map((c) => this.cells[c] as number)));
  }

  check(keys: readonly string[]): number[] {
    return this.count(keys).map((count) => Math.sign(count));
  }

  /** The counts, as in a store's description. */
  stats(): Record<string, number> {
    const nonZeroCells = this.cells.reduce((sum, cell) => sum + Math.sign(cell), 0);
    const saturatedCells = this.cells.reduce((sum, cell) => sum + (cell === 15 ? 1 : 0), 0);
    return { ...this.tally, nonZeroCells, saturatedCells };
  }

  /** Two counters per byte, the even index in the high half. */
  segmentBytes(segment: number): Uint8Array {
    const size = this.geometry.pagesPerSegment * this.geometry.pageCells;
    const cells = this.cells.subarray(segment * size, (segment + 1) * size);
    return Uint8Array.from(
      { length: size / 2 },
      (_, i) => ((cells[2 * i] as number) << 4) | (cells[2 * i + 1] as number),
    );
  }

  private tallied(what: keyof CounterModel['tally'], answer: number): number {
    this.tally[what]++;
    return answer;
  }

  /** Calls `act` with each key's cells, in order. */
  private each(keys: readonly string[], act: (cells: number[]) => number): number[] {
    const { pageCells, pagesPerSegment } = this.geometry;
    const { segment, page, cell, hashes } = positionsOf(keys, this.filter.seed, this.geometry);
    return keys.map((_, i) => {
      const start = ((segment[i] as number) * pagesPerSegment + (page[i] as number)) * pageCells;
      return act(Array.from(cell.subarray(i * hashes, (i + 1) * hashes), (c) => start + c));
    });
  }
}

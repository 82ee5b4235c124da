import type { Geometry } from '#bloom';
import type { CallCounts, FilterSpec } from '../port/index.js';
import type { CellCounts } from './cell-counts.js';

/** Adds up a layer's cells, piece by piece, and computes how many items they can hold. */
export class ItemsHeld {
  private nonZero = 0;
  private saturated = 0;
  private sum = 0;

  constructor(private readonly filter: Pick<FilterSpec, 'geometry' | 'semantics'>) {}

  get geometry(): Geometry {
    return this.filter.geometry;
  }

  take({ nonZero, saturated, sum }: CellCounts): void {
    this.nonZero += nonZero;
    this.saturated += saturated;
    this.sum += sum;
  }

  /**
   * Minimum and maximum of `items` after `removed` removals. Bits: each item has set at least one bit and at most k.
   * Counters: each stored item adds k to their sum, and each removal subtracts k. But a multiset's sum includes copies
   * that don't count as items, and removing a false positive may not reduce the number of items. Once a counter is
   * stuck at 15, the sum says nothing.
   */
  bounds({ removed }: Pick<CallCounts, 'removed'>): { readonly least: number; readonly most: number } {
    const { nonZero, saturated, sum } = this;
    const { semantics, geometry } = this.filter;
    const { cellBits, hashes } = geometry;
    if (nonZero === 0) return { least: 0, most: 0 };
    if (cellBits === 1) return { least: Math.ceil(nonZero / hashes), most: nonZero };
    // If the filter ages, live cells give the number of items.
    if (cellBits === 8 || saturated > 0) return { least: 0, most: Number.MAX_SAFE_INTEGER };
    const least = Math.ceil(sum / hashes);
    return { least: semantics === 'set' ? least : 0, most: least + removed };
  }
}

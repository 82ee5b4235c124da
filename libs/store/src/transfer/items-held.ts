import type { Geometry } from '#bloom';
import type { CallCounts, FilterSpec } from '../port/index.js';
import type { CellCounts } from './cell-counts.js';

/** Adds up the cells of a layer of a filter, piece by piece, and computes how many items can have left them so. */
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
   * The least and the most that `items` can be after `removed` removals. Bits: each item has set at least one and at
   * most k. Counters: each stored item adds k to their sum, and each removal takes k from it. But a multiset counts
   * copies in the sum and not as items. And the removal of an item that was never added, but tested positive, may take
   * no item away. Once a counter is stuck at 15 the sum tells nothing.
   */
  bounds({ removed }: Pick<CallCounts, 'removed'>): { readonly least: number; readonly most: number } {
    const { nonZero, saturated, sum } = this;
    const { semantics, geometry } = this.filter;
    const { cellBits, hashes } = geometry;
    if (nonZero === 0) return { least: 0, most: 0 };
    if (cellBits === 1) return { least: Math.ceil(nonZero / hashes), most: nonZero };
    // Items of a filter that ages are counted by the cells that are live.
    if (cellBits === 8 || saturated > 0) return { least: 0, most: Number.MAX_SAFE_INTEGER };
    const least = Math.ceil(sum / hashes);
    return { least: semantics === 'set' ? least : 0, most: least + removed };
  }
}

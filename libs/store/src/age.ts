import { type Geometry, itemsPerPageFromFill, pageBytes, STAMP_BYTES } from '#bloom';

/*
 * Filters that age: an item is absent if it has not been added again for the filter's maximum age. Time is counted in
 * epochs.
 *
 * Each cell is a byte. The upper half is a counter, and the lower half is the last epoch in which the cell is live,
 * modulo CYCLE. A page begins with its stamp (4 bytes, little-endian), the epoch up to which its expired cells have
 * been emptied. The stamp turns the lower half of a cell back into a full epoch number.
 *
 * A cell whose last epoch has passed counts as zero. Before a cell's last epoch becomes ambiguous, a change in the page
 * empties its expired cells and stamps it again. Nothing else sweeps expired cells.
 *
 * A cell's last epoch is the latest among all items that use it, so no item is forgotten early. Once that epoch has
 * passed, no live item uses the cell, so emptying it is safe.
 */

/** Number of epochs in the maximum age. An item lives for its time to live, and at most one epoch longer. */
export const EPOCHS_OF_AGE = 13;
/** Number of epochs that the lower half of a cell can distinguish. */
export const CYCLE = 16;
/** How far a page's stamp may lag behind, in epochs, before the last epoch of a new item no longer fits in a cell. */
export const MOST_BEHIND = CYCLE - 1 - EPOCHS_OF_AGE;
/** Limits on the maximum age, in seconds: 10 s to ten years. */
export const MIN_MAX_AGE_SECONDS = 10;
export const MAX_MAX_AGE_SECONDS = 315_576_000;
/** Default limit on hidden items per filter: removed items whose cells are all kept live by other items. */
export const DEFAULT_MAX_HIDDEN = 1_000_000;

/** Length of an epoch in ms, for a maximum age in seconds. */
export function epochMs(maxAgeSeconds: number): number {
  return Math.ceil((maxAgeSeconds * 1_000) / EPOCHS_OF_AGE);
}

/** Number of epochs after `epoch` for which an item added now with `ttlMs` is live: 0 to EPOCHS_OF_AGE. */
export function lastsFor(epoch: number, now: number, ttlMs: number, lengthMs: number): number {
  // If the clock was set back, time stops at the start of the epoch.
  const time = Math.max(now, epoch * lengthMs);
  return Math.min(EPOCHS_OF_AGE, Math.floor((time + ttlMs) / lengthMs) - epoch);
}

/** The stamp of the page that begins at byte `at`. */
export function stampOf(bytes: Uint8Array, at: number): number {
  const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
  return low + ((bytes[at + 2] as number) | ((bytes[at + 3] as number) << 8)) * 0x1_0000;
}

/** Counts live cells by their last epoch, for the current epoch and the CYCLE - 1 epochs after it. */
export class Expiring {
  private readonly cells = new Float64Array(CYCLE);
  private now = 0;

  get epoch(): number {
    return this.now;
  }

  /** Cells whose last epoch is `epochs` after the current one. */
  in(epochs: number): number {
    return this.cells[(this.now + epochs) % CYCLE] as number;
  }

  get live(): number {
    let live = 0;
    for (const cells of this.cells) live += cells;
    return live;
  }

  /** Advances to an epoch, and drops the cells that have expired by then. */
  advance(epoch: number): void {
    if (epoch >= this.now + CYCLE) this.cells.fill(0);
    else for (let past = this.now; past < epoch; past++) this.cells[past % CYCLE] = 0;
    this.now = Math.max(this.now, epoch);
  }

  /** Adds `cells` (which may be negative) to the number of cells whose last epoch is `epochs` after the current one. */
  count(epochs: number, cells: number): void {
    const slot = (this.now + epochs) % CYCLE;
    this.cells[slot] = (this.cells[slot] as number) + cells;
  }

  /** Counts the cells of whole pages. A page with a later stamp advances the current epoch to it. */
  countPages(bytes: Uint8Array, { pageCells, cellBits }: Pick<Geometry, 'pageCells' | 'cellBits'>): void {
    const step = pageBytes({ pageCells, cellBits });
    for (let page = 0; page < bytes.length; page += step) {
      const stamp = stampOf(bytes, page);
      this.advance(stamp);
      const lag = this.now - stamp;
      for (let at = page + STAMP_BYTES; at < page + step; at++) {
        const cell = bytes[at] as number;
        const left = ((cell - stamp) & 15) - lag;
        if (cell >= CYCLE && left >= 0) this.count(left, 1);
      }
    }
  }

  /** A copy advanced to an epoch. */
  at(epoch: number): Expiring {
    const later = Expiring.of(this.now, this.toArray());
    later.advance(epoch);
    return later;
  }

  /** The number of cells for each of the next CYCLE epochs, the current one first. */
  toArray(): number[] {
    return Array.from({ length: CYCLE }, (_, epochs) => this.in(epochs));
  }

  /** Restores the result of `toArray`, with `epoch` as the current epoch. */
  restore(epoch: number, cells: ArrayLike<number>): void {
    this.cells.fill(0);
    this.now = epoch;
    for (let epochs = 0; epochs < CYCLE; epochs++) this.count(epochs, cells[epochs] ?? 0);
  }

  /** Like `restore`, but returns a new object. */
  static of(epoch: number, cells: ArrayLike<number> = []): Expiring {
    const expiring = new Expiring();
    expiring.restore(epoch, cells);
    return expiring;
  }
}

/**
 * Estimates the number of items from the live cells of `cells`, by linear counting (Whang, Vander-Zanden and Taylor
 * 1990). A filter that ages has no exact number, because expired items are not counted one by one.
 */
export function itemsFromCells(live: number, cells: number, { pageCells, hashes }: Geometry): number {
  if (live <= 0) return 0;
  const share = Math.min(live, cells - 0.5) / cells;
  return Math.round(itemsPerPageFromFill(share, pageCells, hashes) * (cells / pageCells));
}

/** Items by their last epoch, the current one first. Splits each layer's items in proportion to its live cells. */
export function itemsByEpoch(
  layers: readonly { readonly items: number; readonly cells: readonly number[] }[],
): number[] {
  const items = new Array<number>(EPOCHS_OF_AGE + 1).fill(0);
  for (const layer of layers) {
    const live = layer.cells.reduce((sum, cells) => sum + cells, 0);
    for (const epochs of items.keys())
      if (live > 0)
        items[epochs] = (items[epochs] as number) + (layer.items * (layer.cells[epochs] ?? 0)) / live;
  }
  return items.map(Math.round);
}

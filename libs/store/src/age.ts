import { type Geometry, itemsPerPageFromFill, pageBytes, STAMP_BYTES } from '#bloom';

/*
 * Filters that age: an item that was not added again for so long is absent. Time is counted in epochs. Each cell is a byte, the
 * upper half a counter and the lower the last epoch in which the cell is live, modulo CYCLE. A page begins with its stamp,
 * 4 bytes, little-endian: the epoch up to which its expired cells have been emptied. Against the stamp the lower half of a cell is
 * a whole epoch again. A cell whose last epoch has passed counts as zero. Once that many epochs have passed that the last epoch of
 * a cell could not be told any more, a change in the page empties what has expired, and stamps it anew. There is no other sweep.
 *
 * A cell's last epoch is the latest of all items that use it, so that none is forgotten early, and when it has passed no item
 * uses the cell: emptying it takes nothing from anyone.
 */

/** Epochs of a whole age. What is added is live for its time and at most an epoch more. */
export const EPOCHS_OF_AGE = 13;
/** The lower half of a cell tells so many epochs apart. */
export const CYCLE = 16;
/** A page that is so many epochs behind can still tell the last epoch of what is added now. */
export const MOST_BEHIND = CYCLE - 1 - EPOCHS_OF_AGE;
/** The least and the greatest age, in seconds: ten years. */
export const MIN_MAX_AGE_SECONDS = 10;
export const MAX_MAX_AGE_SECONDS = 315_576_000;
/** Items that are forgotten while others keep all their cells live, of a filter, unless a store is told otherwise. */
export const DEFAULT_MAX_HIDDEN = 1_000_000;

/** Length of an epoch of a filter of this age, in ms. */
export function epochMs(maxAgeSeconds: number): number {
  return Math.ceil((maxAgeSeconds * 1_000) / EPOCHS_OF_AGE);
}

/** How many epochs after `epoch` is the last in which an item is live that is added now, for `ttlMs`: 0 to EPOCHS_OF_AGE. */
export function lastsFor(epoch: number, now: number, ttlMs: number, lengthMs: number): number {
  // With a clock that was set back time stands still at the beginning of the epoch.
  const time = Math.max(now, epoch * lengthMs);
  return Math.min(EPOCHS_OF_AGE, Math.floor((time + ttlMs) / lengthMs) - epoch);
}

/** The stamp of the page that begins at `at`. */
export function stampOf(bytes: Uint8Array, at: number): number {
  const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
  return low + ((bytes[at + 2] as number) | ((bytes[at + 3] as number) << 8)) * 0x1_0000;
}

/** Live cells by their last epoch: those of the next CYCLE epochs. */
export class Expiring {
  private readonly cells = new Float64Array(CYCLE);
  private now = 0;

  get epoch(): number {
    return this.now;
  }

  /** Cells whose last epoch is the one so many after the present. */
  in(epochs: number): number {
    return this.cells[(this.now + epochs) % CYCLE] as number;
  }

  get live(): number {
    let live = 0;
    for (const cells of this.cells) live += cells;
    return live;
  }

  /** Goes on to an epoch. What has expired by then is dropped. */
  advance(epoch: number): void {
    if (epoch >= this.now + CYCLE) this.cells.fill(0);
    else for (let past = this.now; past < epoch; past++) this.cells[past % CYCLE] = 0;
    this.now = Math.max(this.now, epoch);
  }

  /** More cells, or fewer, with the last epoch so many after the present. */
  count(epochs: number, cells: number): void {
    const slot = (this.now + epochs) % CYCLE;
    this.cells[slot] = (this.cells[slot] as number) + cells;
  }

  /** Counts the cells of whole pages. If a page has been written later than the present, that is the present from then on. */
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

  /** As it will be at an epoch, if nothing is added. */
  at(epoch: number): Expiring {
    const later = Expiring.of(this.now, this.toArray());
    later.advance(epoch);
    return later;
  }

  /** The cells of each of the next CYCLE epochs, the present first. */
  toArray(): number[] {
    return Array.from({ length: CYCLE }, (_, epochs) => this.in(epochs));
  }

  /** Puts back what toArray gave, at an epoch. */
  restore(epoch: number, cells: ArrayLike<number>): void {
    this.cells.fill(0);
    this.now = epoch;
    for (let epochs = 0; epochs < CYCLE; epochs++) this.count(epochs, cells[epochs] ?? 0);
  }

  /** As `restore`, of new counts. */
  static of(epoch: number, cells: ArrayLike<number> = []): Expiring {
    const expiring = new Expiring();
    expiring.restore(epoch, cells);
    return expiring;
  }
}

/**
 * How many items leave so many cells of `cells` live: linear counting (Whang, Vander-Zanden and Taylor 1990). Items that expire
 * are not counted one by one, so this is the number of items of a filter that ages.
 */
export function itemsFromCells(live: number, cells: number, { pageCells, hashes }: Geometry): number {
  if (live <= 0) return 0;
  const share = Math.min(live, cells - 0.5) / cells;
  return Math.round(itemsPerPageFromFill(share, pageCells, hashes) * (cells / pageCells));
}

/** Items by their last epoch, the present first, of layers with so many items and live cells. */
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

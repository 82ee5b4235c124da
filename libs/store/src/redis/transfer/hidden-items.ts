import type { HiddenItem } from '../../port/index.js';
import { type RawPage, scan } from '../queue/queue-reader.js';

const HASH_BYTES = 16;
const ITEM_BYTES = HASH_BYTES + 4;

/** The last epoch in which each item is hidden, by the item's hash in Latin-1. */
type Items = ReadonlyMap<string, number>;

/**
 * The items that were hidden in a segment while it was read, and possibly others that were hidden or shown during the
 * read.
 */
interface Found {
  readonly segment: number;
  /** Number of removals from the segment when the read began. */
  readonly removals: number;
  readonly pieces: ReadonlyMap<number, Items>;
}

/**
 * Reads the hidden items of segments for an export, page by page, because a segment may have a million. While nothing
 * is removed, one read serves all pieces of a segment.
 */
export class HiddenItems {
  private last: Found | undefined;

  constructor(
    private readonly readPage: (segment: number, cursor: string) => Promise<RawPage>,
    /** The piece that an item belongs to. */
    private readonly pieceOf: (hash: Buffer) => number,
  ) {}

  /**
   * Runs `read`, which reads a piece's cells and the number of removals from its segment. Adds the hidden items to the
   * result.
   */
  async with<T extends { readonly removals: number }>(
    segment: number,
    piece: number,
    read: () => Promise<T>,
  ): Promise<T & { readonly hidden: readonly HiddenItem[] }> {
    const before = this.last?.segment === segment ? this.last : await this.read(segment);
    const cells = await read();
    // If nothing was removed between the two reads, every item hidden now was hidden before.
    const after = cells.removals === before.removals ? undefined : await this.read(segment);
    // An item may have been hidden or shown between the two reads, so the export hides the items of both.
    const hidden = new Map(before.pieces.get(piece));
    for (const [hash, until] of after?.pieces.get(piece) ?? []) hidden.set(hash, until);
    const items = Array.from(hidden, ([hash, until]) => ({ hash: Buffer.from(hash, 'latin1'), until }));
    return { ...cells, hidden: items };
  }

  private async read(segment: number): Promise<Found> {
    const pieces = new Map<number, Map<string, number>>();
    let known: string | undefined;
    const isAnotherRun = (run: string): boolean => {
      const another = known !== undefined && run !== known;
      known = run;
      return another;
    };
    let removals: number | undefined;
    for await (const page of scan((cursor) => this.readPage(segment, cursor), isAnotherRun)) {
      removals ??= page.removals;
      for (let at = 0; at < page.bytes.length; at += ITEM_BYTES) {
        const hash = page.bytes.subarray(at, at + HASH_BYTES);
        const piece = this.pieceOf(hash);
        let items = pieces.get(piece);
        if (!items) pieces.set(piece, (items = new Map<string, number>()));
        items.set(hash.toString('latin1'), page.bytes.readUInt32BE(at + HASH_BYTES));
      }
    }
    return (this.last = { segment, removals: removals ?? 0, pieces });
  }
}

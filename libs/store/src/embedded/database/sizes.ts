/**
 * Bytes of a value that take a page of LMDB to themselves. For a value of several pages LMDB looks for as many free
 * ones side by side, and carries all free pages that it has looked at from commit to commit from then on: after a
 * checkpoint, which frees thousands, a URL that was queued took four times the CPU.
 */
export const ONE_PAGE_BYTES = 4_096 - 64;

/**
 * How much a row holds, and how much one transaction or turn of the event loop does: a few milliseconds of work. The
 * rest waits for the next. Small sizes bring that rest into short tests. `rowBytes`, `leasePortion` and `blockBytes`
 * are part of the format: a directory is always opened with the same.
 */
export interface Sizes {
  /** Bytes of a row of packed entries, marks or removals, unless one entry alone is longer. */
  readonly rowBytes: number;
  /**
   * Entries of a lease a row: so many are written anew when one of them is settled, which with URLs of usual length is
   * two pages of the database; and so many fewer rows there are than entries.
   */
  readonly leasePortion: number;
  /** Bytes of a block of cells in a checkpoint, or of as many whole pages as fit, but one at least. */
  readonly blockBytes: number;
  /** Blocks that one transaction of a checkpoint or an import writes. */
  readonly blocksPerSlice: number;
  /** The same for a store that is being closed, when no caller is waiting: fewer, larger writes. */
  readonly blocksPerIdleSlice: number;
  /** Journal records that one transaction of a checkpoint deletes. */
  readonly recordsPerSlice: number;
  /** Rows that one transaction of a purge deletes. */
  readonly purgedPerSlice: number;
  /** Entries that one transaction of an import queues. */
  readonly entriesPerSlice: number;
  /** Entries that one page of an export looks at. */
  readonly entriesPerPage: number;
  /** Entries that one change takes from where they are due. */
  readonly movesPerChange: number;
  /** Forgotten entries that one lease passes in the log. */
  readonly skipsPerLease: number;
  /** Dead letters that one page looks at. */
  readonly lettersPerPage: number;
  /** Entries, or rows of them, that one slice of a sweep looks at. */
  readonly sweptPerSlice: number;
  /** Rows of the log that one slice of a sweep looks through: a thousand entries if the rows are full. */
  readonly sweptRowsPerSlice: number;
  /** First rows of queues that are kept in memory: each a page, but for rows of one long entry. */
  readonly headRows: number;
  /** Items of changes that run in one turn. They take 2 to 10 ms. */
  readonly itemsPerTurn: number;
  /** Hidden items that were shown since and may stay in a table, whatever else it has. */
  readonly shownPerTable: number;
}

export const DEFAULT_SIZES: Sizes = {
  rowBytes: ONE_PAGE_BYTES,
  leasePortion: 64,
  blockBytes: 65_536,
  blocksPerSlice: 16,
  blocksPerIdleSlice: 128,
  recordsPerSlice: 256,
  purgedPerSlice: 256,
  entriesPerSlice: 256,
  entriesPerPage: 1_000,
  movesPerChange: 1_000,
  skipsPerLease: 5_000,
  lettersPerPage: 1_000,
  sweptPerSlice: 1_000,
  sweptRowsPerSlice: 20,
  headRows: 256,
  itemsPerTurn: 8_192,
  shownPerTable: 1_000,
};

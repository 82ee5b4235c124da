/**
 * Size of a value that fills a page of LMDB, in bytes. For a value of several pages, LMDB searches for that many
 * adjacent free pages, and from then on carries every free page that it has seen from commit to commit. After a
 * checkpoint, which frees thousands of pages, queuing a URL took four times the CPU.
 */
export const ONE_PAGE_BYTES = 4_096 - 64;

/**
 * The sizes of rows, and of the work in one transaction or turn of the event loop: a few milliseconds. The rest of the
 * work waits for the next one. Tests use small sizes to exercise this. `rowBytes`, `leasePortion` and `blockBytes` are
 * part of the format: a directory is always opened with the same values.
 */
export interface Sizes {
  /** Size of a row of packed entries, marks or removals, in bytes, unless one entry alone is longer. */
  readonly rowBytes: number;
  /**
   * Number of a lease's entries that share one row. Settling one of them rewrites the row: two pages of the database
   * with URLs of usual length. In return, a lease needs only one row for this many entries.
   */
  readonly leasePortion: number;
  /** Size of a block of cells in a checkpoint, in bytes: as many whole pages as fit, but at least one. */
  readonly blockBytes: number;
  /** Number of blocks that one transaction of a checkpoint or an import writes. */
  readonly blocksPerSlice: number;
  /** The same while the store closes and no caller waits: fewer, larger writes. */
  readonly blocksPerIdleSlice: number;
  /** Number of journal records that one transaction of a checkpoint deletes. */
  readonly recordsPerSlice: number;
  /** Number of rows that one transaction of a purge deletes. */
  readonly purgedPerSlice: number;
  /** Number of entries that one transaction of an import queues. */
  readonly entriesPerSlice: number;
  /** Number of entries that one page of an export reads. */
  readonly entriesPerPage: number;
  /** Number of entries, or rows of them, that one page of a list reads. */
  readonly listedPerPage: number;
  /** Number of due entries that one change moves. */
  readonly movesPerChange: number;
  /** Number of forgotten entries that one lease skips in the log. */
  readonly skipsPerLease: number;
  /** Number of hosts whose lanes one change adds entries to. A larger batch is several changes. */
  readonly hostsPerChange: number;
  /** Number of lanes that one lease takes entries from. */
  readonly lanesPerLease: number;
  /** Maximum number of lanes of a queue. */
  readonly maxHosts: number;
  /** Number of dead letters that one page reads. */
  readonly lettersPerPage: number;
  /** Number of entries, or rows of them, that one step of a sweep reads. */
  readonly sweptPerSlice: number;
  /** Number of rows of the log that one step of a sweep reads: a thousand entries if the rows are full. */
  readonly sweptRowsPerSlice: number;
  /** Number of lanes whose first row is kept in memory. Each is at most a page, unless it has one long entry. */
  readonly headRows: number;
  /** Number of items in the changes of one turn, which take 2 to 10 ms. */
  readonly itemsPerTurn: number;
  /**
   * A table of hidden items is rebuilt once this many of its items are no longer hidden, if they are at least half of
   * it.
   */
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
  listedPerPage: 500,
  movesPerChange: 1_000,
  skipsPerLease: 5_000,
  hostsPerChange: 500,
  lanesPerLease: 100,
  maxHosts: 1_000_000,
  lettersPerPage: 1_000,
  sweptPerSlice: 1_000,
  sweptRowsPerSlice: 20,
  headRows: 256,
  itemsPerTurn: 8_192,
  shownPerTable: 1_000,
};

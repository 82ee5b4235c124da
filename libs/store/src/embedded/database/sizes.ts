/**
 * Size of a value that fills one LMDB page, in bytes. For a larger value, LMDB searches for adjacent free pages. From
 * then on, it carries every free page that it has seen from commit to commit. After a checkpoint, which frees thousands
 * of pages, queuing a URL took four times the CPU.
 */
export const ONE_PAGE_BYTES = 4_096 - 64;

/**
 * Row sizes, and limits that keep a transaction or event-loop turn to a few milliseconds. The next transaction or turn
 * continues the work. Tests use small sizes, so that one piece of work takes several of them. `rowBytes`,
 * `leasePortion` and `blockBytes` are part of the format, so a directory must always be opened with the same values.
 */
export interface Sizes {
  /** Size of a row of packed entries, marks or removals, in bytes, unless a single entry is longer. */
  readonly rowBytes: number;
  /**
   * How many of a lease's entries share one row. Settling one of them rewrites the row, which is two database pages for
   * URLs of usual length. In return, a lease needs only one row for this many entries.
   */
  readonly leasePortion: number;
  /** Size of a block of cells in a checkpoint, in bytes: as many whole pages as fit, but at least one. */
  readonly blockBytes: number;
  /** Number of blocks that one transaction of a checkpoint or an import writes. */
  readonly blocksPerSlice: number;
  /** The same while the store closes and no caller waits. Makes fewer, larger writes. */
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
  /** Number of hosts whose lanes one change adds entries to. A larger batch makes several changes. */
  readonly hostsPerChange: number;
  /** Number of lanes that one lease takes entries from. */
  readonly lanesPerLease: number;
  /** Maximum number of lanes in a queue. */
  readonly maxHosts: number;
  /** Number of dead letters that one page reads. */
  readonly lettersPerPage: number;
  /** Number of entries, or rows of them, that one sweep step reads. */
  readonly sweptPerSlice: number;
  /** Number of log rows that one sweep step reads. Full rows have a thousand entries. */
  readonly sweptRowsPerSlice: number;
  /**
   * Number of lanes whose first row is kept in memory. Each row takes at most one page, unless it holds a single long
   * entry.
   */
  readonly headRows: number;
  /** Number of items in one turn's changes, which take 2 to 10 ms. */
  readonly itemsPerTurn: number;
  /**
   * Rebuild a table of hidden items once this many of its items are no longer hidden, and these are at least half of
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

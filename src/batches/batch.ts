/** Number of items by verdict. */
export type Counts = Readonly<Record<string, number>>;

export interface InvalidEntry {
  /** Index in `results`, from 0. */
  readonly index: number;
  readonly reason: string;
}

/** The outcome of a batch, or of one of a stream's blocks: one result per item, in order. */
export interface BatchResult {
  readonly results: readonly (string | number | boolean)[];
  readonly counts: Counts;
  readonly invalid?: readonly InvalidEntry[];
}

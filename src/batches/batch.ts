/** How many items got which verdict. */
export type Counts = Readonly<Record<string, number>>;

export interface InvalidEntry {
  /** Place in `results`, from 0. */
  readonly index: number;
  readonly reason: string;
}

/** What became of a batch, or of a block of a stream: a result per item, in order. */
export interface BatchResult {
  readonly results: readonly (string | number | boolean)[];
  readonly counts: Counts;
  readonly invalid?: readonly InvalidEntry[];
}

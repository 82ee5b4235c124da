/** Some of a source's items, in order. `fault` belongs to the entry after them, which is skipped. */
export interface Run {
  readonly items: readonly string[];
  /** The fault and its place, in one line. */
  readonly fault?: string;
  /** An item's place by its index, for people. Absent if items have no places. */
  readonly placeOf?: (index: number) => string;
}

/** A job's input. It can be read once, from the start. */
export interface Source {
  readonly meter: Meter;
  runs(): AsyncGenerator<Run, void, undefined>;
}

/** How much of a source has been read. */
export interface Meter {
  /** Bytes for files, members for a SET. */
  readonly read: number;
  /** Undefined if unknown, as with a pipe. */
  readonly total: number | undefined;
}

/** A source's bytes as they arrive. */
export type Chunks = AsyncIterable<Buffer>;

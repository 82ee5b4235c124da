/** Items of a source in order, and the fault of the entry after them, if it has one. That entry is skipped. */
export interface Run {
  readonly items: readonly string[];
  /** The fault in one line, with its place. */
  readonly fault?: string;
  /** The place of an item by its index, for people. Absent if items have no places. */
  readonly placeOf?: (index: number) => string;
}

/** The input of a job. It can be read once, from its start. */
export interface Source {
  readonly meter: Meter;
  runs(): AsyncGenerator<Run, void, undefined>;
}

/** How much of a source has been read. */
export interface Meter {
  /** Bytes of files, or members of a SET. */
  readonly read: number;
  /** Undefined while unknown, for example for a pipe. */
  readonly total: number | undefined;
}

/** Bytes of a source as they arrive. */
export type Chunks = AsyncIterable<Buffer>;

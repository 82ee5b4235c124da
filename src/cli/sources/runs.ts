/** Items of a source in order, and what is wrong with the entry after them, if something is: that is left out. */
export interface Run {
  readonly items: readonly string[];
  /** One line that names the place. */
  readonly fault?: string;
  /** Where an item is, by its index, for people. Absent: it has no place. */
  readonly placeOf?: (index: number) => string;
}

/** What a job reads: once, from its beginning. */
export interface Source {
  readonly meter: Meter;
  runs(): AsyncGenerator<Run, void, undefined>;
}

/** How much of it has been read. */
export interface Meter {
  /** Bytes of files, members of a set. */
  readonly read: number;
  /** Undefined while it is unknown, as for a pipe. */
  readonly total: number | undefined;
}

/** Bytes of a source as they come. */
export type Chunks = AsyncIterable<Buffer>;

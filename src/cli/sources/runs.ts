/** Items of a source in order, and what is wrong with the entry after them, if something is: that is left out. */
export interface Run {
  readonly items: readonly string[];
  /** One line that names the place. */
  readonly fault?: string;
  /** Nothing more comes for a while, so what waits for more should not. */
  readonly pause?: boolean;
}

/** Bytes of a source as they come. */
export type Chunks = AsyncIterable<Buffer>;

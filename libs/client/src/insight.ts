/** Numbers of a set at one moment. Counters go on from there, as in its description. */
export interface HistoryPoint {
  readonly at: string;
  readonly items: number;
  readonly fill: number;
  readonly estimatedErrorRate: number;
  readonly added: number;
  readonly duplicate: number;
  readonly removed: number;
  readonly refused: number;
  /** Of visited sets. */
  readonly queue?: {
    readonly waiting: number;
    readonly leased: number;
    readonly delayed: number;
    readonly dead: number;
  };
}

/** The last hours of a set, as the instance that answers remembers them. */
export interface History {
  /** Whether it is among those that the instance watches. */
  readonly watched: boolean;
  readonly since: string;
  readonly intervalSeconds: number;
  /** The oldest first. */
  readonly points: readonly HistoryPoint[];
}

/** How many counters have which value, in pages that were chosen at random. */
export interface Counters {
  readonly layers: readonly {
    readonly pages: number;
    readonly sampledPages: number;
    /** By value, from 0. */
    readonly values: readonly number[];
  }[];
}

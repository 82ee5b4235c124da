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

/** What an item finds in one layer. */
export interface LayerFinding {
  /** From 0, the oldest. */
  readonly layer: number;
  readonly segment: number;
  readonly page: number;
  /** Width of a counter: of a standard filter, a counting one, and a set that ages. */
  readonly cell: 'u1' | 'u4' | 'u8';
  /** Redis store: the key that has the bytes of the segment. */
  readonly redisKey?: string;
  /** All its counters are above zero. */
  readonly claims: boolean;
  /** `index`: `#index` of BITFIELD. */
  readonly counters: readonly { readonly index: number; readonly value: number }[];
  /** Of a set that ages: when the layer claims it no longer. */
  readonly expires?: string;
}

/** Why an item is answered as it is. */
export interface Finding {
  readonly answer: 'seen' | 'unseen';
  /** Of a set that ages: forgotten while others keep its counters alive. */
  readonly hidden?: true;
  /** The oldest first. */
  readonly layers: readonly LayerFinding[];
}

export interface ExplainedItem extends Finding {
  readonly item: string;
}

/** A URL that is no valid one has only `invalid`: why. */
export type ExplainedUrl =
  | { readonly url: string; readonly invalid: string }
  | ({
      readonly url: string;
      readonly key: string;
      /** Those that changed it, in order. */
      readonly rules: readonly { readonly rule: string; readonly before: string; readonly after: string }[];
    } & Finding);

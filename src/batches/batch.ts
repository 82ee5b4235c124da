import type { Keys, PackedKeys } from '#bloom';
import type { ItemRule } from './limits.js';
import type { LineInput } from './line-input.js';

/** The body of a route of URLs: the checked strings of a JSON body, or lines still to be read. */
export type UrlBatch = readonly string[] | LineInput;

/** The same of a route of items, whose bytes are all that is needed. */
export type ItemBatch = Keys | LineInput;

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

/** What one route does with a batch. `C` as in Calls; `P` is PackedKeys if it takes these, too. */
export interface BatchTask<C, P extends PackedKeys = never> {
  /** As metrics name it. */
  readonly verb: string;
  readonly rule: ItemRule;
  /** Of no items: all that it counts, at 0. */
  noCounts(): Counts;
  /** Refuses a streamed request before its body is read, if it can be refused at all by then. */
  admit(): Promise<unknown>;
  run(items: readonly string[] | P, call: C): Promise<BatchResult>;
  /** What a JSON request is answered. */
  json(result: BatchResult): object;
}

/** How a stream is to be answered. */
export interface StreamAnswer {
  readonly requestId: string;
  /** `?results=none`: for clients that send everything before they read. */
  readonly lastLineOnly: boolean;
  /** Throws once the caller may no longer: asked before each block, since a stream may outlive its credentials. */
  readonly confirmCaller: () => Promise<void>;
}

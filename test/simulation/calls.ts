import type { Filter, FilterSpec, Operation, Part, Sync } from '#store';
import type { SetModel } from './set-model.js';

/** Verbs that are recorded under an operation. */
export const MUTATIONS = [
  'create',
  'drop',
  'clear',
  'add',
  'discover',
  'remove',
  'lease',
  'ack',
  'release',
  'extend',
  'put-back',
  'purge',
  'open-sync',
  'keep',
  'import',
] as const;
/** All others: they read, or are recorded by what they do. */
export const OTHERS = [
  'open',
  'check',
  'count',
  'describe',
  'dead-letters',
  'get-sync',
  'commit-sync',
  'abandon-sync',
  'tend',
  'export',
  'list',
] as const;
export type Verb = (typeof MUTATIONS)[number] | (typeof OTHERS)[number];

/** Of a call that reuses the operation of another one. */
export const OTHER_FINGERPRINT = 'other';
/** Verbs that need no handle of a set. */
export const KEYLESS: ReadonlySet<Verb> = new Set([
  'create',
  'drop',
  'clear',
  'open',
  'tend',
  'import',
  'list',
]);

/** A lease and the place in it that an id names. */
export interface Held {
  readonly id: string;
  readonly generation: string;
  readonly lease: number;
  readonly index: number;
  readonly item: string;
}

/** An export of a set that did not change meanwhile. */
export interface Exported {
  readonly filter: Filter;
  readonly parts: readonly Part[];
  /** The set then. */
  readonly set: SetModel;
}

/** A call as it is sent: the same for each repeat. */
export interface Call {
  readonly verb: Verb;
  /** Name of the set. */
  readonly set: string;
  readonly spec: FilterSpec;
  /** Of the handle. */
  readonly generation: string;
  readonly base: number;
  readonly items: readonly string[];
  readonly ttlMs?: number | undefined;
  readonly max: number;
  readonly ms: number;
  readonly countAttempt: boolean;
  readonly held: readonly Held[];
  /** Ids of dead letters, and their items. */
  readonly letters: readonly { readonly id: string; readonly generation: string; readonly item: string }[];
  readonly sync: string;
  /** What an import reads, and after how many parts it breaks off. */
  readonly source?: Exported | undefined;
  readonly tear?: number | undefined;
  /** Of a page of names: the last one before it. */
  readonly after?: string | undefined;
  /** Opens a set as one of the other kind. */
  readonly asOther?: boolean;
  readonly operation: Operation;
}

export type SyncEnd = Pick<Sync, 'id' | 'state' | 'reason'>;

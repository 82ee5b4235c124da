import type { EntryQuery, Filter, FilterSpec, HostSettings, Operation, Part, Priority, Sync } from '#store';
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
  'drop-entries',
  'forget-entries',
  'set-host',
  'drop-host',
] as const;
/** All other verbs. They only read, or their effect is its own record. */
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
  'entries',
  'host',
  'hosts',
] as const;
export type Verb = (typeof MUTATIONS)[number] | (typeof OTHERS)[number];

/** The fingerprint of a call that reuses another call's operation. */
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

/** A leased entry's id, with its lease and index. */
export interface Held {
  readonly id: string;
  readonly generation: string;
  readonly lease: number;
  readonly index: number;
  readonly item: string;
}

/** The id of an entry that a caller listed. */
export interface Listed {
  readonly id: string;
  readonly generation: string;
  readonly item: string;
  readonly birth: number;
  /** See `placeKey`. */
  readonly place: string;
}

/** An export from a set that didn't change during it. */
export interface Exported {
  readonly filter: Filter;
  readonly parts: readonly Part[];
  /** The set as exported. */
  readonly set: SetModel;
}

/** A call as it is sent, the same for each repeat. */
export interface Call {
  readonly verb: Verb;
  /** The set's name. */
  readonly set: string;
  readonly spec: FilterSpec;
  /** The handle's generation and base. */
  readonly generation: string;
  readonly base: number;
  readonly items: readonly string[];
  readonly ttlMs?: number | undefined;
  readonly onlyAbsent?: boolean | undefined;
  readonly max: number;
  readonly ms: number;
  readonly countAttempt: boolean;
  readonly priority?: Priority | undefined;
  /** For how long discovered or acknowledged items are scheduled. 0 if they aren't. */
  readonly laterMs: number;
  readonly held: readonly Held[];
  readonly listed: readonly Listed[];
  /** For a release. How long its hosts are delayed. */
  readonly hostDelayMs: number;
  /** A lease's limit in a per-host queue. */
  readonly maxPerHost?: number | undefined;
  readonly host: string;
  readonly settings: HostSettings;
  readonly query: EntryQuery;
  /** Ids of dead letters, and their items. */
  readonly letters: readonly { readonly id: string; readonly generation: string; readonly item: string }[];
  readonly sync: string;
  /** The export that an import reads, and the number of parts after which it breaks off. */
  readonly source?: Exported | undefined;
  readonly tear?: number | undefined;
  /** The last name before a page of names. */
  readonly after?: string | undefined;
  /** Whether it opens a set as the other kind. */
  readonly asOther?: boolean;
  readonly operation: Operation;
}

export type SyncEnd = Pick<Sync, 'id' | 'state' | 'reason'>;

/** False for a call that the store refuses at once, because the filter is a standard one. */
export const isCounting = ({ verb, spec }: Call): boolean =>
  spec.type !== 'standard' || (verb !== 'remove' && verb !== 'count');

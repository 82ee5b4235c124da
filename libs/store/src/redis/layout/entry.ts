import type { Geometry, Layer } from '#bloom';
import type {
  FilterKind,
  FilterType,
  Operation,
  PerHost,
  Semantics,
  Sync,
  SyncPlan,
} from '../../port/index.js';
import type { LayerPieces } from './keys.js';

/**
 * State of a catalogue entry. In all states but `ready`, a change is in progress. Other calls may take it over once it
 * is stale.
 */
export type EntryState = 'creating' | 'ready' | 'clearing' | 'dropping';

/** How far a filter's or sync's layers have grown. */
export interface Grown {
  /** How many layers have all their keys. Absent: one. */
  readonly made?: number;
  /** Number of layers once the next one's keys exist. Any call that needs that layer may create these keys. */
  readonly growing?: number;
  /**
   * Server time in ms at which a call began to delete those keys, for lack of memory. Until it is done, no call creates
   * any.
   */
  readonly undoing?: number;
  /** When creating a layer last began. Makes the entry differ from that of an undone attempt. */
  readonly grewAt?: number;
}

/** A filter's or its sync's layer stack, in the catalogue entry. */
export interface EntryStack extends Grown {
  readonly geometry: Geometry;
  /** All layers that it may have, if it grows. */
  readonly layers?: readonly Layer[];
}

/**
 * `opening`: a call creates the sync's keys, then segments start to take part, one by one. `committing` and
 * `abandoning`: segments end the sync, one by one. Any call may continue these.
 */
export type SyncStage = 'opening' | 'open' | 'committing' | 'abandoning';

/** A sync in progress. */
export interface EntrySync extends Grown {
  readonly id: string;
  readonly stage: SyncStage;
  readonly plan: SyncPlan;
  /** Number of the first layer that the sync fills. */
  readonly base: number;
  readonly openedAt: number;
  /** Server time in ms at which the opening began or last made progress. */
  readonly since: number;
  readonly operation: Pick<Operation, 'id' | 'fingerprint'>;
  /** The result for callers. Set when the sync starts to commit or abandon. */
  readonly ended?: Sync;
}

/** An operation in progress. If its instance dies, another one may finish and record it. */
export interface BegunOperation extends Pick<Operation, 'id' | 'origin' | 'fingerprint'> {
  readonly verb: string;
}

/** The value that the catalogue stores under a filter's name, as JSON. */
export interface CatalogueEntry extends EntryStack {
  readonly name: string;
  readonly kind: FilterKind;
  readonly type: FilterType;
  readonly semantics: Semantics;
  readonly capacity: number;
  readonly errorRate: number;
  /** The parameters at the filter's creation, if a sync has changed them. */
  readonly original?: { readonly capacity: number; readonly errorRate: number };
  /** Number of the filter's first layer. Absent: 0. */
  readonly base?: number;
  /** Number of the first layer of the next sync. Absent: no sync was ever opened. */
  readonly nextLayer?: number;
  readonly sync?: EntrySync;
  /** The last ended sync, with the layers that it left behind. Absent once the next sync is opened. */
  readonly endedSync?: Sync & { readonly left: readonly LayerPieces[] };
  /** Layers that an ended sync left behind, until their keys are deleted. */
  readonly left?: readonly LayerPieces[];
  readonly urlProfile?: unknown;
  readonly maxAttempts?: number;
  readonly maxAgeSeconds?: number;
  readonly perHost?: PerHost;
  readonly seed: string;
  readonly generation: string;
  readonly createdAt: number;
  readonly tags: readonly string[];
  /**
   * Stored with the filter, because chunk numbers name operation records and another version may use a different chunk
   * size.
   */
  readonly itemsPerScript: number;
  readonly state: EntryState;
  /**
   * Server time in ms at which the current change began or last made progress. For a ready entry, the time of the last
   * change.
   */
  readonly since: number;
  /** The operation in progress. */
  readonly operation?: BegunOperation;
  /** Hash tags of segments to delete before the entry is ready or gone. */
  readonly retired?: readonly string[];
  /** Layers that the segments in `retired` may have. */
  readonly retiredLayers?: readonly LayerPieces[];
}

/** Hash tags of all segments that an entry has or must still delete. */
export function allTags(entry: CatalogueEntry): string[] {
  return [...new Set([...entry.tags, ...(entry.retired ?? [])])];
}

/** Maximum number of layers that a filter or sync may have. */
export function plannedIn({ layers = [] }: Pick<EntryStack, 'layers'>): number {
  return Math.max(1, layers.length);
}

/** Layers that may have keys: one more than exist, since a late command may have created keys of the next layer. */
export function layersOf(stack: EntryStack, base: number, segments: number): LayerPieces[] {
  const planned = (stack.layers ?? [{ geometry: stack.geometry }]).slice(0, (stack.made ?? 1) + 1);
  return planned.map(({ geometry }, n) => ({ number: base + n, pieces: geometry.segments / segments }));
}

/** All layers for which an entry's segments may have keys. */
export function layersIn(entry: CatalogueEntry): LayerPieces[] {
  const { sync, base = 0, left = [], tags } = entry;
  const filled = sync ? layersOf({ ...sync, ...sync.plan }, sync.base, tags.length) : [];
  return [...layersOf(entry, base, tags.length), ...filled, ...left];
}

/** All layers that an entry has or must still delete. */
export function allLayers(entry: CatalogueEntry): LayerPieces[] {
  const most = new Map<number, number>();
  for (const { number, pieces } of [...layersIn(entry), ...(entry.retiredLayers ?? [])]) {
    most.set(number, Math.max(pieces, most.get(number) ?? 0));
  }
  return Array.from(most, ([number, pieces]) => ({ number, pieces }));
}

/** The `generation` field in a segment's meta (see RedisFilter.viewOf). Begins with the generation. */
export function tokenOf(
  { generation, base = 0 }: Pick<CatalogueEntry, 'generation' | 'base'>,
  sync?: string,
): string {
  return `${generation}${base === 0 ? '' : `.${base}`}${sync === undefined ? '' : `+${sync}`}`;
}

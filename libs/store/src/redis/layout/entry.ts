import type { Geometry, Layer } from '#bloom';
import type { FilterKind, FilterType, Operation, Semantics, Sync, SyncPlan } from '../../port/index.js';
import type { LayerPieces } from './keys.js';

/**
 * State of a catalogue entry. In all states but `ready` work is under way, which others may take over once it is stale.
 */
export type EntryState = 'creating' | 'ready' | 'clearing' | 'dropping';

/** How many layers of a list there are. */
export interface Grown {
  /** With all their keys. Absent: one. */
  readonly made?: number;
  /** How many there will be once the keys are made of one that is under way; whoever needs it goes on with it. */
  readonly growing?: number;
  /** While its keys are deleted again, for lack of memory: server time in ms since when. Then nobody makes any. */
  readonly givingUp?: number;
  /** When a layer was last begun: with it the text is another than one that has been given up. */
  readonly grewAt?: number;
}

/** A list of layers as an entry has it. */
export interface EntryList extends Grown {
  readonly geometry: Geometry;
  /** If it grows, the layers it may have. */
  readonly layers?: readonly Layer[];
}

/**
 * `opening`: its keys are made, then the segments take part, one after the other. `committing` and `abandoning`: the segments end
 * it, one after the other. Whoever comes by may go on with each.
 */
export type SyncStage = 'opening' | 'open' | 'committing' | 'abandoning';

/** A sync that is under way. */
export interface EntrySync extends Grown {
  readonly id: string;
  readonly stage: SyncStage;
  readonly plan: SyncPlan;
  /** Number of the first layer that it fills. */
  readonly base: number;
  readonly openedAt: number;
  /** Server time in ms when its opening began, or was last known to go on. */
  readonly since: number;
  readonly operation: Pick<Operation, 'id' | 'fingerprint'>;
  /** What callers see of it from then on, once it is committing or abandoning. */
  readonly ended?: Sync;
}

/** An operation that an entry says is in progress. If its instance dies, another may finish it and record it. */
export interface BegunOperation extends Pick<Operation, 'id' | 'origin' | 'fingerprint'> {
  readonly verb: string;
}

/** What the catalogue stores under a filter's name, as JSON. */
export interface CatalogueEntry extends EntryList {
  readonly name: string;
  readonly kind: FilterKind;
  readonly type: FilterType;
  readonly semantics: Semantics;
  readonly capacity: number;
  readonly errorRate: number;
  /** What it was made with, if a sync has changed it since. */
  readonly original?: { readonly capacity: number; readonly errorRate: number };
  /** Number of its first layer. Absent: 0. */
  readonly base?: number;
  /** Number of the first layer of the next sync. Absent: none was ever opened. */
  readonly nextLayer?: number;
  readonly sync?: EntrySync;
  /** The last sync that is over, until the next is opened, with the layers that it has left. */
  readonly endedSync?: Sync & { readonly left: readonly LayerPieces[] };
  /** Layers that a sync which is over has left, until their keys are deleted. */
  readonly left?: readonly LayerPieces[];
  readonly urlProfile?: unknown;
  readonly maxAttempts?: number;
  readonly maxAgeSeconds?: number;
  readonly seed: string;
  readonly generation: string;
  readonly createdAt: number;
  readonly tags: readonly string[];
  /** Stored, because operation records are named by chunk and another version may choose another chunk size. */
  readonly itemsPerScript: number;
  readonly state: EntryState;
  /**
   * Server time in ms when the current work began or was last known to go on. For a ready entry, that of the work
   * before.
   */
  readonly since: number;
  /** The operation that is in progress. */
  readonly operation?: BegunOperation;
  /** Hash tags of segments that must be deleted before the entry is ready or gone. */
  readonly retired?: readonly string[];
  /** The layers that one of these may have. */
  readonly retiredLayers?: readonly LayerPieces[];
}

/** Hash tags of all segments that an entry has or still has to delete. */
export function allTags(entry: CatalogueEntry): string[] {
  return [...new Set([...entry.tags, ...(entry.retired ?? [])])];
}

/** How many layers a list may have. */
export function plannedIn({ layers = [] }: Pick<EntryList, 'layers'>): number {
  return Math.max(1, layers.length);
}

/**
 * The layers of a list that may have keys, with the next one: somebody who was late may have made keys of it also if it is not
 * being made now.
 */
export function layersOf(list: EntryList, base: number, segments: number): LayerPieces[] {
  const planned = (list.layers ?? [{ geometry: list.geometry }]).slice(0, (list.made ?? 1) + 1);
  return planned.map(({ geometry }, n) => ({ number: base + n, pieces: geometry.segments / segments }));
}

/** All layers that a segment of an entry may have keys of. */
export function layersIn(entry: CatalogueEntry): LayerPieces[] {
  const { sync, base = 0, left = [], tags } = entry;
  const filled = sync ? layersOf({ ...sync, ...sync.plan }, sync.base, tags.length) : [];
  return [...layersOf(entry, base, tags.length), ...filled, ...left];
}

/** All layers that an entry has or still has to delete. */
export function allLayers(entry: CatalogueEntry): LayerPieces[] {
  const most = new Map<number, number>();
  for (const { number, pieces } of [...layersIn(entry), ...(entry.retiredLayers ?? [])]) {
    most.set(number, Math.max(pieces, most.get(number) ?? 0));
  }
  return Array.from(most, ([number, pieces]) => ({ number, pieces }));
}

/** What the meta of a segment has as its generation: see RedisFilter.viewOf. It begins with the generation. */
export function tokenOf(
  { generation, base = 0 }: Pick<CatalogueEntry, 'generation' | 'base'>,
  sync?: string,
): string {
  return `${generation}${base === 0 ? '' : `.${base}`}${sync === undefined ? '' : `+${sync}`}`;
}

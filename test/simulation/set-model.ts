import { isDeepStrictEqual } from 'node:util';
import {
  Added,
  Kept,
  plannedLayers,
  Removed,
  type AddOptions,
  type Filter,
  type FilterSpec,
  type HostView,
  type Sync,
} from '#store';
import { HOSTS, hostOf, ITEMS } from './items.js';
import type { Limits } from './limits.js';
import { AgedLayers, CellLayers, type LayersModel } from './layers.js';
import { QueueModel } from './queue.js';

/** An open sync. */
interface SyncModel {
  readonly id: string;
  readonly openedAt: number;
  readonly layers: LayersModel;
  readonly base: number;
  readonly planned: number;
  readonly removed: Set<string>;
  /** Hashes in the rows of removals. */
  rowHashes: number;
  listed: number;
  fresh: number;
}

/** An exact model of a set. */
export class SetModel {
  base = 0;
  layers: LayersModel;
  /**
   * Whether its layers' cells are known. After a sync they aren't, because its layers were filled in a different order.
   */
  exact = true;
  sync: SyncModel | undefined;
  readonly ended = new Map<string, { readonly state: string; readonly at: number }>();
  readonly queue: QueueModel | undefined;
  readonly tally = { added: 0, duplicate: 0, removed: 0, refused: 0 };
  /** The number of changes so far. */
  changes = 0;
  /** Which layers are gone, by number. */
  readonly retired = new Set<number>();
  /**
   * For each host, the number of discoveries minus removals. A committed sync sets it to the number of items that it
   * kept.
   */
  private found = new Map<string, number>();
  private nextLayer: number;
  /** Maximum number of layers. */
  planned: number;

  constructor(
    readonly filter: Filter,
    private readonly clock: { now: number },
    private readonly limits: Limits,
  ) {
    this.layers = layersOf(filter, clock, limits);
    this.nextLayer = this.planned = plannedLayers(filter).length;
    if (filter.kind === 'visited-set') this.queue = new QueueModel(filter, clock, limits.sizes);
  }

  /** A set with this one's contents as exported. */
  imported(filter: Filter, clock: { now: number }, limits: Limits): SetModel {
    const copy = new SetModel(filter, clock, limits);
    copy.layers = this.layers.copy(filter, clock);
    Object.assign(copy.tally, this.tally);
    copy.found = new Map(this.found);
    if (this.queue) copy.queue?.restore(this.queue, filter);
    return copy;
  }

  has(item: string): boolean {
    return this.layers.has(item) || (this.sync?.layers.has(item) ?? false);
  }

  count(item: string): number {
    return this.layers.count(item) || (this.sync?.layers.count(item) ?? 0);
  }

  add(items: readonly string[], { ttlMs, onlyAbsent }: AddOptions = {}): number[] {
    const { layers, sync } = this;
    const lasts = layers instanceof AgedLayers ? layers.lasts(ttlMs) : undefined;
    const listed = new Set(items.filter((item) => sync?.layers.has(item)));
    const answers = items.map((item) => {
      if (sync) this.addBeside(sync, item, lasts, listed.has(item));
      if (onlyAbsent && layers.has(item)) return Added.Present;
      if (!listed.has(item)) return layers.add(item, lasts) ? Added.New : Added.Present;
      if (layers instanceof AgedLayers && layers.has(item)) layers.add(item, lasts);
      return Added.Present;
    });
    const added = answers.filter((answer) => answer === Added.New).length;
    this.tally.added += added;
    this.tally.duplicate += items.length - added;
    for (const item of items) if (sync?.removed.delete(item)) sync.rowHashes++;
    return answers;
  }

  /** Adds items within their hosts' `maxUrls`. */
  discover(items: readonly string[], ttlMs: number | undefined): number[] {
    const limited = this.limited(items);
    const admitted = items.filter((item) => !limited.has(item));
    const answers = this.add(admitted, { ttlMs });
    for (const [i, item] of admitted.entries()) if (answers[i] === Added.New) this.countUrl(item, 1);
    return items.map((item) => (limited.has(item) ? Added.Limited : (answers.shift() as number)));
  }

  /** The items in a batch that would exceed `maxUrls`. */
  limited(items: readonly string[]): Set<string> {
    const { lanes } = this.queue ?? {};
    const fresh = [...new Set(items.filter((item) => !this.has(item)))];
    const limited = HOSTS.flatMap((host) => {
      const { maxUrls = Infinity } = this.filter.perHost ? (lanes?.limits(lanes.of(host)) ?? {}) : {};
      return fresh.filter((item) => hostOf(item) === host).slice(Math.max(0, maxUrls - this.foundOf(host)));
    });
    return new Set(limited);
  }

  /** How many of a host's URLs count towards `maxUrls`. */
  foundOf(host: string): number {
    return this.found.get(host) ?? 0;
  }

  private countUrl(item: string, by: number): void {
    this.found.set(hostOf(item), Math.max(0, this.foundOf(hostOf(item)) + by));
  }

  /** A host as the store shows it. */
  viewOf(host: string): ExpectedView {
    const found = this.filter.perHost?.maxUrls === undefined ? 0 : this.foundOf(host);
    return {
      host,
      view: this.queue?.view(host, found),
      isVague: this.queue?.lanes.of(host).isVague ?? false,
    };
  }

  remove(items: readonly string[]): number[] {
    const { sync } = this;
    const answers = items.map((item) => this.layers.remove(item));
    if (sync) {
      items.forEach((item, i) => {
        const second = sync.layers.remove(item);
        if (answers[i] === Removed.Absent) answers[i] = second;
        if (sync.removed.has(item)) return;
        sync.removed.add(item);
        sync.rowHashes++;
      });
    }
    const removed = answers.filter((answer) => answer === Removed.Removed).length;
    this.tally.removed += removed;
    this.tally.refused += items.length - removed;
    for (const [i, item] of items.entries()) if (answers[i] === Removed.Removed) this.countUrl(item, -1);
    this.queue?.forget(items.filter((_, i) => answers[i] === Removed.Removed));
    return answers;
  }

  openSync(id: string, spec: FilterSpec): void {
    const layers = layersOf({ ...spec, seed: this.filter.seed }, this.clock, this.limits);
    const base = this.nextLayer;
    const planned = plannedLayers(spec).length;
    this.nextLayer += planned;
    const sync = { id, openedAt: this.clock.now, layers, base, planned, removed: new Set<string>() };
    this.sync = { ...sync, rowHashes: 0, listed: 0, fresh: 0 };
    this.queue?.openSync();
    for (const { item, place } of this.queue?.entries ?? [])
      if (place.in !== 'schedule') this.keepOne(this.sync, item, true);
  }

  keep(items: readonly string[]): number[] {
    const { sync } = this;
    if (!sync) return [];
    return items.map((item) => {
      if (sync.removed.has(item)) return Kept.Forgotten;
      sync.listed++;
      const isNew = this.keepOne(sync, item, false) && !this.layers.has(item);
      if (isNew) sync.fresh++;
      return isNew ? Kept.New : Kept.Present;
    });
  }

  endSync({ id, state }: Pick<Sync, 'id' | 'state'>): void {
    const { sync } = this;
    if (!sync) return;
    this.changes++;
    this.ended.set(id, { state, at: this.clock.now });
    this.sync = undefined;
    if (state !== 'committed') {
      this.retire(sync);
      return;
    }
    this.retire(this);
    this.layers = sync.layers;
    this.queue?.dropUnkept((item) => sync.layers.has(item));
    this.base = sync.base;
    this.found.clear();
    for (const item of ITEMS) if (sync.layers.has(item)) this.countUrl(item, 1);
    this.planned = sync.planned;
    this.exact = false;
  }

  private retire({ base, planned }: { readonly base: number; readonly planned: number }): void {
    for (let number = base; number < base + planned; number++) this.retired.add(number);
  }

  /** Whether a sync's layers newly take the item. If `queued`, expired items aren't kept. */
  private keepOne({ layers, openedAt }: SyncModel, item: string, queued: boolean): boolean {
    const own = this.layers;
    if (!(own instanceof AgedLayers) || !(layers instanceof AgedLayers))
      return layers.has(item) ? false : layers.add(item);
    const left = own.left(item);
    if (left !== undefined) return layers.add(item, left);
    if (queued) return false;
    return layers.add(item, layers.has(item) ? own.lastsSince(openedAt) : own.lasts());
  }

  private addBeside({ layers }: SyncModel, item: string, lasts: number | undefined, listed: boolean): void {
    if (!(this.layers instanceof AgedLayers)) {
      if (!listed && !layers.has(item)) layers.add(item);
    } else layers.add(item, Math.max(this.layers.left(item) ?? 0, lasts ?? 0));
  }
}

/** A view of a host. */
export interface ExpectedView {
  readonly host: string;
  /** If undefined, the host isn't listed. */
  readonly view: HostView | undefined;
  /** It may also count forgotten entries. */
  readonly isVague: boolean;
}

/** The first fault in the host views. Undefined if there is none. */
export function wrongView(expected: readonly ExpectedView[], views: readonly HostView[]): string | undefined {
  for (const { host, view, isVague } of expected) {
    const found = views.find(({ name }) => name === host);
    if (isDeepStrictEqual(found, view) || (isVague && isRoughly(found, view))) continue;
    return `host ${host} is ${JSON.stringify(found)}, not ${JSON.stringify(view)}`;
  }
  return undefined;
}

const COUNTS = ['waiting', 'leased', 'delayed', 'scheduled', 'dead'] as const;

/** Whether a view is right if it may count forgotten entries. */
function isRoughly(view: HostView | undefined, expected: HostView | undefined): boolean {
  if (!view || !expected) return !expected;
  const { found, own, blockedUntil } = view;
  if (COUNTS.some((state) => view[state] < expected[state])) return false;
  return isDeepStrictEqual([found, own, blockedUntil], [expected.found, expected.own, expected.blockedUntil]);
}

function layersOf(spec: FilterSpec, clock: { now: number }, { maxHidden }: Limits): LayersModel {
  if (spec.maxAgeSeconds !== undefined) return new AgedLayers(spec, clock, maxHidden);
  return new CellLayers(spec, plannedLayers(spec), spec.layers !== undefined);
}

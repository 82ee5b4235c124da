import { EPOCHS_OF_AGE, epochMs, lastsFor } from '../../libs/store/src/age.js';
import { positionsOf, type Layer } from '#bloom';
import { Removed, type Filter, type FilterSpec } from '#store';
import { CounterModel } from '../support/counter-model.js';

/** A sequential model of a set's layers. */
export interface LayersModel {
  add(item: string, lasts?: number): boolean;
  /** Returns a value of Removed in the port. */
  remove(item: string): number;
  has(item: string): boolean;
  count(item: string): number;
  /** Whether a batch fits. */
  fits(items: readonly string[]): boolean;
  /** The same layers, in another set. */
  copy(filter: FilterSpec, clock: { now: number }): LayersModel;
  /** Items in the layers. Undefined if the store estimates them. */
  readonly items: number | undefined;
}

/** All layers' counters, or bits. Exact to the cell, so it also models collisions and counters at 15. */
export class CellLayers implements LayersModel {
  private readonly layers: CounterModel[] = [];

  constructor(
    private readonly spec: FilterSpec,
    private readonly plan: readonly Layer[],
    private readonly grows: boolean,
  ) {
    this.grow();
  }

  add(item: string): boolean {
    const claiming = this.claiming(item);
    if (claiming) return claiming.add([item])[0] === 1;
    while (this.grows && this.open.tally.items >= this.capacityOf(this.layers.length - 1) && this.next)
      this.grow();
    return this.open.add([item])[0] === 1;
  }

  remove(item: string): number {
    return this.claiming(item)?.remove([item])[0] ?? 0;
  }

  has(item: string): boolean {
    return this.claiming(item) !== undefined;
  }

  count(item: string): number {
    return this.claiming(item)?.count([item])[0] ?? 0;
  }

  fits(items: readonly string[]): boolean {
    const { capacity } = this.plan[0] as Layer;
    const open = this.open.tally.items;
    let room = this.grows ? Math.max(0, this.capacityOf(this.layers.length - 1) - open) : 2 * capacity - open;
    if (items.length <= room) return true;
    for (let n = this.layers.length; n < this.plan.length; n++) room += this.capacityOf(n);
    return new Set(items.filter((item) => !this.has(item))).size <= room;
  }

  copy(filter: FilterSpec): CellLayers {
    const copy = new CellLayers(filter, this.plan, this.grows);
    for (const [n, layer] of this.layers.entries()) {
      if (n > 0) copy.grow();
      copy.open.cells.set(layer.cells);
      Object.assign(copy.open.tally, layer.tally);
    }
    return copy;
  }

  get items(): number {
    return this.layers.reduce((sum, { tally }) => sum + tally.items, 0);
  }

  /** Each layer's counts, as in a store's description. */
  get layerStats(): { items: number; nonZeroCells: number; saturatedCells: number }[] {
    return this.layers.map((layer) => {
      const { items = 0, nonZeroCells = 0, saturatedCells = 0 } = layer.stats();
      return { items, nonZeroCells, saturatedCells: this.spec.type === 'standard' ? 0 : saturatedCells };
    });
  }

  private get open(): CounterModel {
    return this.layers.at(-1) as CounterModel;
  }

  private get next(): Layer | undefined {
    return this.plan[this.layers.length];
  }

  private capacityOf(layer: number): number {
    return this.plan[layer]?.capacity ?? 0;
  }

  private claiming(item: string): CounterModel | undefined {
    return this.layers.find((layer) => layer.check([item])[0] === 1);
  }

  private grow(): void {
    const { geometry } = this.next as Layer;
    this.layers.push(new CounterModel({ ...this.spec, geometry } as unknown as Filter));
  }
}

interface AgedCell {
  counter: number;
  /** The last epoch in which it is live. */
  last: number;
}

/**
 * The first layer of a set that ages, exact to the cell. Besides the items that its cells claim, it knows which of them
 * are hidden.
 */
export class AgedLayers implements LayersModel {
  readonly items = undefined;
  readonly epochMs: number;
  private readonly cells = new Map<number, AgedCell>();
  /** The last epoch in which each item is hidden. */
  private readonly hidden = new Map<string, number>();
  private readonly maxAgeMs: number;

  constructor(
    private readonly spec: FilterSpec,
    private readonly clock: { now: number },
    private readonly maxHidden: number,
  ) {
    const { maxAgeSeconds = 0 } = spec;
    this.epochMs = epochMs(maxAgeSeconds);
    this.maxAgeMs = maxAgeSeconds * 1_000;
  }

  get epoch(): number {
    return Math.floor(this.clock.now / this.epochMs);
  }

  /** The number of epochs for which an item added now lives. */
  lasts(ttlMs = this.maxAgeMs): number {
    return lastsFor(this.epoch, this.clock.now, ttlMs, this.epochMs);
  }

  lastsSince(at: number): number {
    const epochs = Math.floor((at + this.maxAgeMs) / this.epochMs) - this.epoch;
    return Math.min(EPOCHS_OF_AGE, Math.max(0, epochs));
  }

  /** The number of epochs that an item has left. Undefined if it is gone. */
  left(item: string): number | undefined {
    return this.isHidden(item) ? undefined : this.claimedFor(item);
  }

  add(item: string, lasts = this.lasts()): boolean {
    const isNew = this.left(item) === undefined;
    this.hidden.delete(item);
    for (const place of this.placesOf(item)) {
      const cell = this.live(place);
      const last = Math.max(cell?.last ?? 0, this.epoch + lasts);
      this.cells.set(place, { counter: Math.min(15, (cell?.counter ?? 0) + (isNew ? 1 : 0)), last });
    }
    return isNew;
  }

  remove(item: string): number {
    const left = this.left(item);
    if (left === undefined) return Removed.Absent;
    for (const place of this.placesOf(item)) {
      const { counter, last } = this.cells.get(place) as AgedCell;
      if (counter === 1) this.cells.delete(place);
      else if (counter < 15) this.cells.set(place, { counter: counter - 1, last });
    }
    if (this.claimedFor(item) !== undefined) this.hidden.set(item, this.epoch + left);
    return Removed.Removed;
  }

  has(item: string): boolean {
    return this.left(item) !== undefined;
  }

  count(item: string): number {
    if (!this.has(item)) return 0;
    return Math.min(...this.placesOf(item).map((place) => this.live(place)?.counter ?? 0));
  }

  fits(): boolean {
    return true;
  }

  copy(filter: FilterSpec, clock: { now: number }): AgedLayers {
    const copy = new AgedLayers(filter, clock, this.maxHidden);
    for (const [place, cell] of this.cells) copy.cells.set(place, cell);
    for (const [item, until] of this.hidden) copy.hidden.set(item, until);
    return copy;
  }

  /** Whether forgetting these items would exceed the limit on hidden items, if others keep all their cells. */
  hidesTooMany(items: readonly string[]): boolean {
    const { hiddenItems, maxHidden } = this;
    return (
      hiddenItems + items.length > maxHidden &&
      hiddenItems + items.filter((item) => this.has(item)).length > maxHidden
    );
  }

  /** How many items are hidden now. */
  get hiddenItems(): number {
    return [...this.hidden.keys()].filter((item) => this.isHidden(item)).length;
  }

  private isHidden(item: string): boolean {
    return (this.hidden.get(item) ?? -1) >= this.epoch;
  }

  /** For how many epochs cells claim an item. Undefined if the cells don't claim it. */
  private claimedFor(item: string): number | undefined {
    const left = this.placesOf(item).map((place) => (this.live(place)?.last ?? -Infinity) - this.epoch);
    return Math.min(...left) < 0 ? undefined : Math.min(...left);
  }

  private live(place: number): AgedCell | undefined {
    const cell = this.cells.get(place);
    return cell && cell.last >= this.epoch ? cell : undefined;
  }

  private placesOf(item: string): number[] {
    const { seed, geometry } = this.spec;
    const { pagesPerSegment, pageCells } = geometry;
    const { segment, page, cell } = positionsOf([item], seed, geometry);
    const start = ((segment[0] as number) * pagesPerSegment + (page[0] as number)) * pageCells;
    return Array.from(cell, (c) => start + c);
  }
}

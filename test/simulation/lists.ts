import { EPOCHS_OF_AGE, epochMs, lastsFor } from '../../libs/store/src/age.js';
import type { Layer } from '#bloom';
import type { Filter, FilterSpec } from '#store';
import { CounterModel } from '../support/counter-model.js';

/** What a list of layers does with items, one after the other. */
export interface ListModel {
  add(item: string, lasts?: number): boolean;
  /** As Removed of the port. */
  remove(item: string): number;
  has(item: string): boolean;
  count(item: string): number;
  /** Whether a batch fits. */
  fits(items: readonly string[]): boolean;
  /** Items of its layers; undefined if that is an estimate. */
  readonly items: number | undefined;
}

/** Counters, or bits, of all layers: exact to the cell, so collisions and counters at 15 are known, too. */
export class CellList implements ListModel {
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

  get items(): number {
    return this.layers.reduce((sum, { tally }) => sum + tally.items, 0);
  }

  /** Of each layer, as a store describes it. */
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

/** Items and the last epoch in which each is live, of a list that ages. Exact if no two items share all their cells. */
export class AgedList implements ListModel {
  readonly items = undefined;
  private readonly last = new Map<string, number>();
  readonly epochMs: number;

  constructor(
    private readonly maxAgeSeconds: number,
    private readonly clock: { now: number },
  ) {
    this.epochMs = epochMs(maxAgeSeconds);
  }

  get epoch(): number {
    return Math.floor(this.clock.now / this.epochMs);
  }

  /** Epochs that what is added now lasts. */
  lasts(ttlMs = this.maxAgeSeconds * 1_000): number {
    return lastsFor(this.epoch, this.clock.now, ttlMs, this.epochMs);
  }

  lastsSince(at: number): number {
    const epochs = Math.floor((at + this.maxAgeSeconds * 1_000) / this.epochMs) - this.epoch;
    return Math.min(EPOCHS_OF_AGE, Math.max(0, epochs));
  }

  /** Epochs that are left of an item; undefined if it is gone. */
  left(item: string): number | undefined {
    const last = this.last.get(item);
    return last === undefined || last < this.epoch ? undefined : last - this.epoch;
  }

  add(item: string, lasts = this.lasts()): boolean {
    const left = this.left(item);
    this.last.set(item, this.epoch + Math.max(left ?? 0, lasts));
    return left === undefined;
  }

  remove(item: string): number {
    const present = this.has(item);
    this.last.delete(item);
    return present ? 1 : 0;
  }

  has(item: string): boolean {
    return this.left(item) !== undefined;
  }

  count(item: string): number {
    return this.has(item) ? 1 : 0;
  }

  fits(): boolean {
    return true;
  }
}

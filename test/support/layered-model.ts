import { positionsOf } from '#bloom';
import type { Filter } from '#store';
import { CounterModel } from './counter-model.js';

/** A growing counting filter in its simplest form: a model of each layer, and the rules that choose an item's layer. */
export class LayeredModel {
  readonly layers: readonly CounterModel[];
  /** The number of each segment's open layer. */
  private readonly open: number[];
  /** Each segment's items in each layer. */
  private readonly items: number[][];

  constructor(private readonly filter: Filter) {
    const { segments } = filter.geometry;
    this.layers = plan(filter).map(({ geometry }) => new CounterModel({ ...filter, geometry }));
    this.open = new Array<number>(segments).fill(0);
    this.items = this.layers.map(() => new Array<number>(segments).fill(0));
  }

  add(keys: readonly string[]): number[] {
    return this.each(keys, (key, segment) => {
      const claiming = this.claiming(key);
      if (claiming >= 0) return this.change(claiming, segment, (layer) => layer.add([key]));
      const open = this.openFor(segment);
      return this.change(open, segment, (layer) => layer.add([key]));
    });
  }

  remove(keys: readonly string[]): number[] {
    return this.each(keys, (key, segment) => {
      const claiming = this.claiming(key);
      return claiming < 0 ? 0 : this.change(claiming, segment, (layer) => layer.remove([key]));
    });
  }

  count(keys: readonly string[]): number[] {
    return keys.map((key) => this.layers[this.claiming(key)]?.count([key])[0] ?? 0);
  }

  check(keys: readonly string[]): number[] {
    return this.count(keys).map((count) => Math.sign(count));
  }

  /** Each layer's counts, as in a store's description. */
  stats(): { items: number; nonZeroCells: number; saturatedCells: number }[] {
    return this.layers.map((layer) => {
      const { items = 0, nonZeroCells = 0, saturatedCells = 0 } = layer.stats();
      return { items, nonZeroCells, saturatedCells };
    });
  }

  /** The number of the oldest layer that contains a key, or -1. */
  private claiming(key: string): number {
    return this.layers.findIndex((layer) => layer.check([key])[0] === 1);
  }

  /** The layer for new items. A layer closes when it holds its share. */
  private openFor(segment: number): number {
    const open = this.open[segment] as number;
    const share = Math.ceil((plan(this.filter)[open]?.capacity ?? 0) / this.open.length);
    if (open < this.layers.length - 1 && (this.items[open]?.[segment] as number) >= share) {
      this.open[segment] = open + 1;
      return this.openFor(segment);
    }
    return open;
  }

  private change(number: number, segment: number, call: (layer: CounterModel) => number[]): number {
    const layer = this.layers[number] as CounterModel;
    const before = layer.tally.items;
    const [answer] = call(layer);
    const items = this.items[number] as number[];
    items[segment] = (items[segment] as number) + layer.tally.items - before;
    return answer as number;
  }

  private each(keys: readonly string[], act: (key: string, segment: number) => number): number[] {
    const { segment } = positionsOf(keys, this.filter.seed, this.filter.geometry);
    return keys.map((key, i) => act(key, segment[i] as number));
  }
}

function plan({ name, layers }: Filter) {
  if (!layers) throw new Error(`filter ${name} does not grow`);
  return layers;
}

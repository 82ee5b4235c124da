import type { Positions } from '#bloom';
import type { Expiring } from '../../age.js';
import { Added, Removed } from '../../port/index.js';
import type { Ageing } from '../layers/ageing.js';
import { AgedOperation, type LayerChange } from '../journal/journal.js';
import type { LayerState } from '../layers/layer-state.js';
import { cleanPage, epochsLeft, GONE, isLive, lowerAged, raiseAged, smallestAged } from './aged-cells.js';
import { type CellKind, LEFT, type Outcome, type Raising } from './cell-kind.js';
import { fetchPages } from './fetch-pages.js';

/** A layer that ages. It doesn't claim hidden items. */
export class AgedLayer implements CellKind {
  constructor(private readonly age: Ageing) {}

  claim(layer: LayerState, positions: Positions): Uint8Array {
    const { epoch, hidden } = this.age;
    const { count, hashes: k, segment, page, cell, hash } = positions;
    fetchPages(layer, positions);
    const anyHidden = hidden.size > 0;
    const claimed = new Uint8Array(count);
    for (let i = 0; i < count; i++) {
      const bytes = layer.segments[segment[i] as number] as Uint8Array;
      if (!isLive(bytes, (page[i] as number) * layer.pageBytes, cell, i * k, k, epoch)) continue;
      if (!anyHidden || !hidden.has(hash, 4 * i)) claimed[i] = 1;
    }
    return claimed;
  }

  /** For how many epochs, including the current one, the layer claims each item. */
  left(layer: LayerState, positions: Positions): Uint8Array {
    const { epoch, hidden } = this.age;
    const { count, hashes: k, segment, page, cell, hash } = positions;
    fetchPages(layer, positions);
    const anyHidden = hidden.size > 0;
    const left = new Uint8Array(count);
    for (let i = 0; i < count; i++) {
      const bytes = layer.segments[segment[i] as number] as Uint8Array;
      const epochs = epochsLeft(bytes, (page[i] as number) * layer.pageBytes, cell, i * k, k, epoch);
      if (epochs !== GONE && (!anyHidden || !hidden.has(hash, 4 * i))) left[i] = epochs + 1;
    }
    return left;
  }

  least(layer: LayerState, positions: Positions): Uint8Array {
    const { hashes: k, segment, page, cell } = positions;
    const smallest = this.claim(layer, positions);
    for (let i = 0; i < smallest.length; i++) {
      if (smallest[i] === 0) continue;
      const bytes = layer.segments[segment[i] as number] as Uint8Array;
      smallest[i] = smallestAged(bytes, (page[i] as number) * layer.pageBytes, cell, i * k, k);
    }
    return smallest;
  }

  /**
   * Makes an item that the layer claims live until at least `lasts`. Increments the cells of a hidden item, because
   * they are live only for other items and don't count it.
   */
  raise(layer: LayerState, positions: Positions, { room, lasts }: Raising): Outcome {
    const { hidden, epoch } = this.age;
    const expiring = expiringOf(layer);
    const { pageCells } = layer.plan.geometry;
    const { count, hashes: k, segment, page, cell, hash } = positions;
    fetchPages(layer, positions);
    const answers = new Uint8Array(count);
    const adds = new Changed(AgedOperation.Add, count);
    const refreshes = new Changed(AgedOperation.Refresh, count);
    const anyHidden = hidden.size > 0;
    let saturated = 0;
    let taken = 0;
    for (let i = 0; i < count; i++) {
      const s = segment[i] as number;
      const bytes = layer.segments[s] as Uint8Array;
      const at = (page[i] as number) * layer.pageBytes;
      const wanted = typeof lasts === 'number' ? lasts : (lasts[i] as number);
      const remaining = epochsLeft(bytes, at, cell, i * k, k, epoch);
      const live = remaining !== GONE;
      const isNew = (anyHidden && (live || taken < room) && hidden.show(hash, 4 * i)) || !live;
      if (!isNew && remaining >= wanted) continue;
      if (!live && taken >= room) {
        answers[i] = LEFT;
        continue;
      }
      saturated -= cleanPage(bytes, at, pageCells, epoch);
      saturated += raiseAged(bytes, at, cell, i * k, k, wanted, isNew, expiring);
      layer.dirty[layer.blockOf(s, page[i] as number)] = 1;
      if (isNew) {
        if (!live) taken++;
        answers[i] = Added.New;
        adds.push(i, wanted);
      } else refreshes.push(i, wanted);
    }
    layer.tally.saturatedCells += saturated;
    layer.recount();
    const changes = [...adds.changes(layer, positions, epoch), ...refreshes.changes(layer, positions, epoch)];
    return { answers, changes };
  }

  lower(layer: LayerState, positions: Positions): Outcome {
    const { hidden, epoch } = this.age;
    const expiring = expiringOf(layer);
    const { pageCells } = layer.plan.geometry;
    const { count, hashes: k, segment, page, cell, hash } = positions;
    fetchPages(layer, positions);
    const answers = new Uint8Array(count);
    const removals = new Changed(AgedOperation.Remove, count);
    for (let i = 0; i < count; i++) {
      const s = segment[i] as number;
      const bytes = layer.segments[s] as Uint8Array;
      const at = (page[i] as number) * layer.pageBytes;
      const remaining = epochsLeft(bytes, at, cell, i * k, k, epoch);
      // Skip a hidden item, whose live cells belong to other items.
      if (remaining === GONE || hidden.has(hash, 4 * i)) continue;
      layer.tally.saturatedCells -= cleanPage(bytes, at, pageCells, epoch);
      layer.dirty[layer.blockOf(s, page[i] as number)] = 1;
      if (!lowerAged(bytes, at, cell, i * k, k, expiring)) hidden.hide(hash, 4 * i, remaining);
      answers[i] = Removed.Removed;
      removals.push(i, 0);
    }
    layer.recount();
    return { answers, changes: [...removals.changes(layer, positions, epoch)] };
  }
}

function expiringOf({ expiring, number }: LayerState): Expiring {
  if (!expiring) throw new TypeError(`layer ${number} does not age`);
  return expiring;
}

/** The items in a batch whose cells an operation has changed. */
class Changed {
  private readonly items: Uint32Array;
  private readonly lasts: Uint8Array;
  private count = 0;

  constructor(
    private readonly operation: AgedOperation,
    size: number,
  ) {
    this.items = new Uint32Array(size);
    this.lasts = new Uint8Array(size);
  }

  push(item: number, lasts: number): void {
    this.items[this.count] = item;
    this.lasts[this.count++] = lasts;
  }

  *changes(layer: LayerState, positions: Positions, epoch: number): Generator<LayerChange, void, undefined> {
    const { operation, count } = this;
    if (count === 0) return;
    const changed = this.items.subarray(0, count);
    yield { layer, positions, changed, aged: { operation, epoch, lasts: this.lasts.subarray(0, count) } };
  }
}

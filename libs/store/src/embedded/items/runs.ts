import { select, segmentsPerRun, type Positions } from '#bloom';
import type { LayerChange } from '../journal/journal.js';
import type { LayerState } from '../layers/layer-state.js';
import type { Outcome } from './cell-kind.js';
import { put } from './subsets.js';

/** Indexes of items in a batch. Undefined: all items. */
export type Some = Uint32Array | undefined;

/** Works on some items in a layer, at their positions in it. */
export type Visit<T> = (layer: LayerState, here: Positions, some: Some) => T;

/** A Visit that changes cells. All items are in the same run. */
type RunVisit = (layer: LayerState, here: Positions, some: Some, run: number) => Outcome;

/**
 * A visit that changes a layer's cells. With several runs, it visits one after another, because each run has its own
 * limit.
 */
export function byRun(visit: RunVisit): Visit<Outcome> {
  return (layer, here, some) => {
    if (!layer.runs) return visit(layer, here, some, 0);
    const answers = new Uint8Array(here.count);
    const changes: LayerChange[] = [];
    for (const [run, indexes] of indexesByRun(layer, here)) {
      const chosen = some ? indexes.map((n) => some[n] as number) : indexes;
      const outcome = layer.inRun(run, () => visit(layer, select(here, indexes), chosen, run));
      put(answers, indexes, outcome.answers);
      changes.push(...outcome.changes);
    }
    return { answers, changes };
  };
}

/** Number of items in each of `runs` runs. */
export function countInRuns(layer: LayerState, positions: Positions, runs: number): Uint32Array {
  const counts = new Uint32Array(runs);
  for (const [run, indexes] of indexesByRun(layer, positions)) counts[run] = indexes.length;
  return counts;
}

/** Indexes of the items in each run, without empty runs. */
function indexesByRun({ plan }: LayerState, { count, segment }: Positions): Map<number, Uint32Array> {
  const perRun = segmentsPerRun(plan.geometry);
  const found = new Map<number, number[]>();
  for (let n = 0; n < count; n++) {
    const run = Math.floor((segment[n] as number) / perRun);
    const indexes = found.get(run);
    if (indexes) indexes.push(n);
    else found.set(run, [n]);
  }
  return new Map(Array.from(found, ([run, indexes]) => [run, Uint32Array.from(indexes)]));
}

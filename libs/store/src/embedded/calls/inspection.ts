import { pageBytes, type Positions, relocate } from '#bloom';
import { stampOf } from '../../age.js';
import { cellAt, cellIndex, drawPages, findingIn, SampleTally } from '../../found-cells.js';
import type { Finding, Inspection, LayerFinding, LayerSample, Filter } from '../../port/index.js';
import type { Ageing } from '../layers/ageing.js';
import type { Engine } from '../engine/engine.js';
import type { LayerStack } from '../layers/layer-stack.js';
import type { LayerState } from '../layers/layer-state.js';

/** See the port for each method's guarantees. */
export class EmbeddedInspection implements Inspection {
  constructor(private readonly engine: Engine) {}

  async explain(filter: Filter, positions: Positions, deadline?: number): Promise<Finding[]> {
    return this.engine.read((memory) => explainIn(memory.current(filter).stack, positions), deadline);
  }

  async sample(filter: Filter, deadline?: number): Promise<LayerSample[]> {
    return this.engine.read((memory) => sampleOf(memory.current(filter).stack), deadline);
  }
}

function explainIn(stack: LayerStack, positions: Positions): Finding[] {
  const { age, layers } = stack;
  const placed = layers.map((layer) => ({ layer, here: relocate(positions, layer.plan.geometry) }));
  return Array.from({ length: positions.count }, (_, i) => {
    const found = placed.map(({ layer, here }) => findIn(layer, age, here, i));
    const claimed = found.some(({ claims }) => claims);
    const hidden = claimed && age !== undefined && age.hidden.has(positions.hash, 4 * i);
    return { present: claimed && !hidden, hidden, layers: found };
  });
}

function findIn(
  { plan: { geometry }, segments }: LayerState,
  age: Ageing | undefined,
  positions: Positions,
  i: number,
): LayerFinding {
  const { hashes: k, cell } = positions;
  const bytes = segments[positions.segment[i] as number] as Uint8Array;
  const page = positions.page[i] as number;
  const stored = Array.from(cell.subarray(i * k, (i + 1) * k), (one) =>
    cellAt(bytes, cellIndex(geometry, page, one), geometry.cellBits),
  );
  const ageing = age && {
    ...{ epoch: age.epoch, epochMs: age.epochMs, stamp: stampOf(bytes, page * pageBytes(geometry)) },
  };
  return findingIn(geometry, positions, i, stored, ageing);
}

function sampleOf({ layers, age }: LayerStack): LayerSample[] {
  const drawn = drawPages(layers.map(({ plan }) => plan.geometry));
  return layers.map(({ plan, segments, pageBytes: step }, n) => {
    const tally = new SampleTally(plan.geometry);
    for (const { segment, page } of drawn[n] ?? []) {
      tally.count(segments[segment] as Uint8Array, page * step, age?.epoch ?? 0);
    }
    return tally.sample;
  });
}

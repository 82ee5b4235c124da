import { planGeometry } from '#bloom';
import type { Filter, FilterKind, FilterStats } from '#store';

const SIZING = { capacity: 1_000, errorRate: 1e-3 };
const GEOMETRY = planGeometry(
  { ...SIZING, cellBits: 4 },
  { maxSegmentBytes: 2 ** 20, minSegments: 1, minSegmentBytes: 1 },
);

/** A description for tests whose store has only names. */
export const STATS: FilterStats = {
  ...{ items: 3, nonZeroCells: 30, saturatedCells: 0 },
  layers: [{ items: 3, nonZeroCells: 30, saturatedCells: 0 }],
  ...{ added: 5, duplicate: 1, removed: 2, refused: 0 },
  recordWindowSeconds: { caller: 86_400, made: 60 },
};

/** A filter for such a store. */
export function filterOf(name: string, kind: FilterKind, generation = 'g'): Filter {
  return {
    ...{ name, kind, type: 'counting', semantics: 'set', ...SIZING, geometry: GEOMETRY },
    ...{ seed: new Uint8Array(16), generation, base: 0, spread: 1, createdAt: 1 },
  };
}

import { filterBytes } from '#bloom';
import type { Usage } from '../../port/index.js';
import type { CatalogueEntry, EntryStack } from '../layout/entry.js';

/** An entry's usage, minus that of the entry it replaces. */
export function difference(before: CatalogueEntry | undefined, after: CatalogueEntry | undefined): Usage {
  return {
    filters: Number(after !== undefined) - Number(before !== undefined),
    bytes: bytesOf(after) - bytesOf(before),
  };
}

/** Bytes of an entry's layers, including a sync's layers and layers that are being created. */
function bytesOf(entry: CatalogueEntry | undefined): number {
  if (!entry) return 0;
  const { sync } = entry;
  return bytesOfStack(entry) + (sync ? bytesOfStack({ ...sync, ...sync.plan }) : 0);
}

function bytesOfStack({ geometry, layers = [], made = 1, growing = 0 }: EntryStack): number {
  const later = layers.slice(1, Math.max(made, growing));
  return later.reduce((sum, layer) => sum + filterBytes(layer.geometry), filterBytes(geometry));
}

import { filterBytes, type Layer } from '#bloom';
import { StoreError } from '../../errors.js';
import { assertWithin } from '../../quota.js';
import type { Quota } from '../../port/index.js';
import { allocateCells, assertAvailable, reserveCells } from '../layers/cell-memory.js';
import type { FilterState } from '../filters/filter-state.js';
import type { LayerList } from '../layers/layer-list.js';
import type { LayerState } from '../layers/layer-state.js';
import type { Memory } from '../filters/memory.js';
import { usageOf } from './room.js';

/** Share of a layer's capacity at which the store reserves memory for the next layer. */
const NEARLY_FULL = 0.9;
/** Delay before a failed reservation is retried, in ms. */
const RETRY_MS = 1_000;

/**
 * Allocates the next `needed` layers for a batch that may need them. Returns a function that opens one per call. Throws
 * STORE_FULL if there is no memory for a layer, and QUOTA_EXCEEDED if it would exceed `quota`; then nothing has
 * changed.
 */
export function layersFor(
  state: FilterState,
  list: LayerList,
  memory: Memory,
  needed: number,
  quota: Quota | undefined,
): () => LayerState {
  const cells: (readonly Uint8Array[])[] = [];
  let bytes = 0;
  for (let n = 0; n < needed; n++) {
    const { geometry } = list.plan[list.layers.length + n] as Layer;
    const reserved = n === 0 ? list.reserved : undefined;
    bytes += filterBytes(geometry);
    if (!reserved) {
      assertRoom(state, list, memory, bytes, quota);
      assertAvailable(list.reserved ? bytes - filterBytes((list.next ?? list.plan[0]).geometry) : bytes);
    }
    cells.push(reserved ?? allocateCells(geometry));
  }
  return () => list.grow(cells.shift() as readonly Uint8Array[]);
}

/** True if the newest layer is nearly full. */
export function isNearlyFull({ open }: LayerList): boolean {
  return open.fill >= NEARLY_FULL;
}

/** Reserves memory for the next layer in the background, once the newest layer is nearly full. */
export async function reserveNext(
  state: FilterState,
  list: LayerList,
  memory: Memory,
  quota: Quota | undefined,
): Promise<void> {
  const { next, reserving, reserved, unreserved } = list;
  if (!next || reserving || reserved) return;
  if (!isNearlyFull(list)) return;
  if (unreserved && memory.clock.monotonic() - unreserved.at < RETRY_MS) return;
  try {
    assertRoom(state, list, memory, filterBytes(next.geometry), quota);
    // From here on, the layer counts towards the quota.
    list.reserving = true;
    const cells = await reserveCells(next.geometry);
    if (list.next === next) list.reserved = cells;
    list.unreserved = undefined;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    list.unreserved = { at: memory.clock.monotonic(), code: error.code };
  } finally {
    list.reserving = false;
  }
}

function assertRoom(
  state: FilterState,
  list: LayerList,
  memory: Memory,
  bytes: number,
  quota: Quota | undefined,
): void {
  if (!quota) return;
  // The usage includes a layer that is being reserved, unless its sync was abandoned meanwhile.
  const held = list.layers.reduce((sum, layer) => sum + layer.bytes, 0);
  const counted = state.lists.includes(list) ? list.bytes - held : 0;
  assertWithin(quota, usageOf(memory, quota.prefix), { filters: 0, bytes: Math.max(0, bytes - counted) });
}

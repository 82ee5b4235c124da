import { filterBytes } from '#bloom';
import { StoreError } from '../errors.js';
import { assertWithin } from '../quota.js';
import type { Quota } from '../store.js';
import { allocateCells, assertAvailable, reserveCells } from './cell-memory.js';
import type { FilterState } from './filter-state.js';
import type { LayerState } from './layer-state.js';
import type { Memory } from './memory.js';
import { usageOf } from './room.js';

/** Of a layer's capacity: from then on memory for the next one is reserved. */
const NEARLY_FULL = 0.9;
/** After it could not be reserved. */
const RETRY_MS = 1_000;

/**
 * Makes the next layers of a filter, for a batch that may need so many. Answers what opens them, one after the other.
 * Throws STORE_FULL if there is no memory for one, and QUOTA_EXCEEDED if it would exceed the caller's quota; then nothing
 * has changed.
 */
export function layersFor(
  state: FilterState,
  memory: Memory,
  needed: number,
  quota: Quota | undefined,
): () => LayerState {
  const cells: (readonly Uint8Array[])[] = [];
  let bytes = 0;
  for (let n = 0; n < needed; n++) {
    const { geometry } = state.plan[state.layers.length + n] as FilterState['plan'][0];
    const reserved = n === 0 ? state.reserved : undefined;
    bytes += filterBytes(geometry);
    if (!reserved) {
      assertRoom(state, memory, bytes, quota);
      assertAvailable(state.reserved ? bytes - filterBytes((state.next ?? state.plan[0]).geometry) : bytes);
    }
    cells.push(reserved ?? allocateCells(geometry));
  }
  return () => state.grow(cells.shift() as readonly Uint8Array[]);
}

/** Whether it will soon need another layer. */
export function isNearlyFull({ open }: FilterState): boolean {
  return open.tally.items >= NEARLY_FULL * open.plan.capacity;
}

/** Reserves memory for the next layer in the background, once the newest is nearly full. */
export async function reserveNext(
  state: FilterState,
  memory: Memory,
  quota: Quota | undefined,
): Promise<void> {
  const { next, reserving, reserved, unreserved } = state;
  if (!next || reserving || reserved) return;
  if (!isNearlyFull(state)) return;
  if (unreserved && performance.now() - unreserved.at < RETRY_MS) return;
  try {
    assertRoom(state, memory, filterBytes(next.geometry), quota);
    // From here on it counts in the quota.
    state.reserving = true;
    const cells = await reserveCells(next.geometry);
    if (state.next === next) state.reserved = cells;
    state.unreserved = undefined;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    state.unreserved = { at: performance.now(), code: error.code };
  } finally {
    state.reserving = false;
  }
}

function assertRoom(state: FilterState, memory: Memory, bytes: number, quota: Quota | undefined): void {
  if (!quota) return;
  // A layer that is being reserved is counted already.
  const counted = state.bytes - state.layers.reduce((sum, layer) => sum + layer.bytes, 0);
  assertWithin(quota, usageOf(memory, quota.prefix), { filters: 0, bytes: Math.max(0, bytes - counted) });
}

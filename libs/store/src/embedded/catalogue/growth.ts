import { filterBytes, type Layer } from '#bloom';
import { StoreError } from '../../errors.js';
import { assertWithin } from '../../quota.js';
import type { Quota } from '../../port/index.js';
import { allocateCells, assertAvailable, reserveCells } from '../layers/cell-memory.js';
import type { FilterState } from '../filters/filter-state.js';
import type { LayerStack } from '../layers/layer-stack.js';
import type { LayerState } from '../layers/layer-state.js';
import type { Memory } from '../filters/memory.js';
import { usageOf } from './room.js';

/** How full a layer is when the store reserves memory for the next one. */
const NEARLY_FULL = 0.9;
/** Delay before a failed reservation is retried, in ms. */
const RETRY_MS = 1_000;

/**
 * Allocates the next `needed` layers for a batch that may need them. Returns a function that opens one layer per call.
 * Throws STORE_FULL if there is no memory for a layer, and QUOTA_EXCEEDED if it would exceed `quota`. In both cases,
 * nothing has changed.
 */
export function layersFor(
  state: FilterState,
  stack: LayerStack,
  memory: Memory,
  needed: number,
  quota: Quota | undefined,
): () => LayerState {
  const cells: (readonly Uint8Array[])[] = [];
  let bytes = 0;
  for (let n = 0; n < needed; n++) {
    const { geometry } = stack.plan[stack.layers.length + n] as Layer;
    const reserved = n === 0 ? stack.reserved : undefined;
    bytes += filterBytes(geometry);
    if (!reserved) {
      assertRoom(state, stack, memory, bytes, quota);
      assertAvailable(stack.reserved ? bytes - filterBytes((stack.next ?? stack.plan[0]).geometry) : bytes);
    }
    cells.push(reserved ?? allocateCells(geometry));
  }
  return () => stack.grow(cells.shift() as readonly Uint8Array[]);
}

export function isNearlyFull({ open }: LayerStack): boolean {
  return open.fill >= NEARLY_FULL;
}

/** Reserves memory for the next layer in the background, once the newest layer is nearly full. */
export async function reserveNext(
  state: FilterState,
  stack: LayerStack,
  memory: Memory,
  quota: Quota | undefined,
): Promise<void> {
  const { next, reserving, reserved, unreserved } = stack;
  if (!next || reserving || reserved) return;
  if (!isNearlyFull(stack)) return;
  if (unreserved && memory.clock.monotonic() - unreserved.at < RETRY_MS) return;
  try {
    assertRoom(state, stack, memory, filterBytes(next.geometry), quota);
    // From here on, the layer counts towards the quota.
    stack.reserving = true;
    const cells = await reserveCells(next.geometry);
    if (stack.next === next) stack.reserved = cells;
    stack.unreserved = undefined;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    stack.unreserved = { at: memory.clock.monotonic(), code: error.code };
  } finally {
    stack.reserving = false;
  }
}

function assertRoom(
  state: FilterState,
  stack: LayerStack,
  memory: Memory,
  bytes: number,
  quota: Quota | undefined,
): void {
  if (!quota) return;
  // The usage includes a layer that is being reserved, unless its sync has been abandoned in the meantime.
  const held = stack.layers.reduce((sum, layer) => sum + layer.bytes, 0);
  const counted = state.stacks.includes(stack) ? stack.bytes - held : 0;
  assertWithin(quota, usageOf(memory, quota.prefix), { filters: 0, bytes: Math.max(0, bytes - counted) });
}

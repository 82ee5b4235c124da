import type { IncomingMessage } from 'node:http';
import type { Slot } from './slot.js';

/**
 * On the request itself: V8's young collections keep what a weak map holds, and all that it leads to, as long as the map, so
 * that every request would grow old.
 */
const SLOT = Symbol('slot');

interface Admitted extends IncomingMessage {
  [SLOT]?: Slot;
}

/** Gives an admitted request its slot. */
export function assignSlot(request: Admitted, slot: Slot): void {
  request[SLOT] = slot;
}

/** The slot of a request; undefined if it did not come through the gate, as those that tests inject. */
export function slotOf(request: Admitted): Slot | undefined {
  return request[SLOT];
}

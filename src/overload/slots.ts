import type { IncomingMessage } from 'node:http';
import type { Slot } from './slot.js';

const slots = new WeakMap<IncomingMessage, Slot>();

/** Gives an admitted request its slot. */
export function assignSlot(request: IncomingMessage, slot: Slot): void {
  slots.set(request, slot);
}

/** The slot of a request; undefined if it did not come through the gate, as those that tests inject. */
export function slotOf(request: IncomingMessage): Slot | undefined {
  return slots.get(request);
}

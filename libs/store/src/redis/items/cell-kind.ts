import type { Frame, LayerShape, Place } from './frame.js';

/**
 * Lua for one kind of cell: packed counters and bits (packed-cells.ts), or bytes that age (aged-cells.ts). Their
 * scripts differ only in this text.
 */
export interface CellKind {
  /** Variables for the passes, after the script's head. */
  open(frame: Frame): string;
  /** Reads item n. Sets `live` to whether the layer claims it. */
  claim(shape: LayerShape): string;
  /**
   * Like claim, for an add.
   *
   * @param lasts the number of epochs that the item will live, as Lua
   */
  visit(place: Place, lasts: string): string;
  /** After visit: Lua that checks whether the item is new to these layers. */
  isNew(place: Place): string;
  /** After visit: Lua that checks whether the add must write the item. */
  isStale(frame: Frame, place: Place): string;
  /** Local variables of a pass that changes the layer. */
  locals(place: Place): string;
  /** After visit: writes the item. */
  raise(place: Place): string;
  /**
   * After claim: removes the item. Sets its answer, `moved`: '1' if it was removed, '2' if no counter could be lowered,
   * '0' if it was hidden.
   */
  lower(frame: Frame, place: Place): string;
  /** The smallest of the item's counters. */
  least(shape: LayerShape): string;
  /** Updates the layer's counts in meta and `stored[place]`. Call it after a pass that changes the layer. */
  account(frame: Frame, place: Place): string;
  /** At the end of a change. */
  save(frame: Frame): string;
}

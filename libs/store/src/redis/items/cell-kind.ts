import type { Frame, LayerShape, Place } from './frame.js';

/**
 * Lua text for the cells of one kind: packed counters and bits (packed-cells.ts), or bytes that age (aged-cells.ts). Item
 * scripts are the same for both but for these.
 */
export interface CellKind {
  /** Behind the head of a script: what its passes need. */
  open(frame: Frame): string;
  /** Reads item n, and sets `live`: whether the layer claims it. */
  claim(shape: LayerShape): string;
  /**
   * As claim, for an add.
   *
   * @param lasts for how many epochs the item is to live, as Lua
   */
  visit(place: Place, lasts: string): string;
  /** Behind visit, as Lua: the list had no such item; and the add has to write it. */
  isNew(place: Place): string;
  isStale(frame: Frame, place: Place): string;
  /** Local variables of a pass that changes the layer. */
  locals(place: Place): string;
  /** Behind visit: writes the item. */
  raise(place: Place): string;
  /** Behind claim: takes the item away. Sets `moved`: its answer, '1' if the item is gone, '2' if no counter could be lowered. */
  lower(frame: Frame, place: Place): string;
  /** The smallest of the item's counters. */
  least(shape: LayerShape): string;
  /** Behind a pass that changes the layer: counts what it changed, and sets stored[place]. */
  account(frame: Frame, place: Place): string;
  /** At the end of a change. */
  save(frame: Frame): string;
}

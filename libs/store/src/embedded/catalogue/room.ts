import { filterBytes } from '#bloom';
import { StoreError } from '../../errors.js';
import { assertWithin } from '../../quota.js';
import type { FilterSpec, Quota, Usage } from '../../port/index.js';
import type { Memory, TakenRoom } from '../filters/memory.js';

/**
 * Room in a quota for a filter that is being created. A creation takes it before it reserves memory, and holds it until
 * the filter exists or the creation has failed. So parallel creations can't exceed the quota together.
 */
export class Room implements TakenRoom {
  readonly name: string;
  bytes: number;
  private held: Set<TakenRoom> | undefined;
  private left = false;

  constructor(
    { name, geometry }: FilterSpec,
    private readonly quota: Quota | undefined,
  ) {
    this.name = name;
    this.bytes = filterBytes(geometry);
  }

  /**
   * Throws QUOTA_EXCEEDED if the quota has no room. Parallel creations under one name need room for only one filter,
   * since only one can succeed.
   */
  assert(memory: Memory): void {
    const { bytes, name, quota } = this;
    if (quota) assertWithin(quota, usageOf(memory, quota.prefix, name), { filters: 1, bytes });
  }

  /** Like `take`, but returns false if the quota has no room. */
  tryTake(memory: Memory): boolean {
    try {
      this.take(memory);
      return true;
    } catch (error) {
      if (error instanceof StoreError) return false;
      throw error;
    }
  }

  /** Takes the room. Throws like `assert`. */
  take(memory: Memory): void {
    this.assert(memory);
    // `leave` may have been called in the meantime.
    if (this.left) return;
    this.held = memory.rooms.add(this);
  }

  /** Takes room for another layer. Throws like `assert`, and then changes nothing. */
  grow(memory: Memory, bytes: number): void {
    this.bytes += bytes;
    try {
      this.assert(memory);
    } catch (error) {
      this.bytes -= bytes;
      throw error;
    }
  }

  /** Frees the room. Idempotent. */
  leave(): void {
    this.left = true;
    this.held?.delete(this);
  }
}

/** Usage of the filters under a prefix, including filters in creation, but not the filter named `except`. */
export function usageOf({ filters, rooms }: Memory, prefix: string, except?: string): Usage {
  const counts = (name: string): boolean => name !== except && name.startsWith(prefix);
  // One name may have several rooms, if calls create it in parallel.
  const making = new Map<string, number>();
  for (const { name, bytes } of rooms) {
    if (counts(name) && !filters.has(name)) making.set(name, Math.max(bytes, making.get(name) ?? 0));
  }
  let number = making.size;
  let bytes = 0;
  for (const size of making.values()) bytes += size;
  for (const { filter, bytes: held } of filters.values()) {
    if (!counts(filter.name)) continue;
    number++;
    bytes += held;
  }
  return { filters: number, bytes };
}
